-- One row is one break between what records claim and what really happened.
-- @rule phantom_execution critical
--   means: The record says that it was done, and nothing shows that it was.
--   do: Check with the system of record; do it if it is owed, and correct the record.
--   satisfied by: a receipt or a successful attempt of the claimed action.
-- @rule hidden_execution critical
--   means: The record says that it was not done, but it happened: somebody will do it a second time.
--   do: Stop any manual follow-up, and correct the record.
--   satisfied by: executed: true in the record, or a rollback receipt.
-- @rule unclaimed_execution high
--   means: Something changed that the closed run's record does not mention.
--   do: Add it to the record, or find out who did it.
--   satisfied by: a claim in the record.
-- @rule partial_as_executed high
--   means: The record says done, but only a part took effect and nobody verified that this is safe.
--   do: Finish or verify the rest, and correct the record.
--   satisfied by: a complete effect, or `verified: true` on the partial one.
-- @rule amount_break high
--   means: The record and the evidence name different amounts.
--   do: Take the system of record's amount, and settle the difference.
--   satisfied by: amounts that agree within the policy's tolerance.
-- @rule duplicate_execution critical
--   means: One idempotency key took effect twice.
--   do: Reverse the second effect, and report the system that ignored the key.
--   satisfied by: a receipt `exists` for the repeat, or a rollback.
-- @rule key_conflict high
--   means: One idempotency key was used for different inputs.
--   do: Give each operation a key of its own; check which input took effect.
--   satisfied by: one input for each key.
-- @rule conflicting_claims high
--   means: Two records disagree about one action.
--   do: Check with the system of record, and correct the wrong record.
--   satisfied by: records that agree.
-- @rule unreceipted_execution medium
--   means: The contract demands a receipt, and the tool's own word is all there is.
--   do: Ask the system of record; mend the receipt feed.
--   satisfied by: a receipt of this execution.
-- @rule unverifiable low
--   means: A call ended without an answer and no receipt feed can tell whether it took effect.
--   do: Look it up by hand; declare a receipt feed for the tool.
--   satisfied by: a receipt that says what became of it.
SELECT
    r.verdict AS rule,
    CASE WHEN r.status = 'pending' THEN 'pending' ELSE 'open' END AS status,
    r.subject,
    '' AS occurrence,
    r.correlation_id,
    r.run_id,
    NULLIF(r.tenant_key, '') AS tenant,
    r.caller,
    r.tool,
    CAST(NULL AS VARCHAR) AS gate,
    r.event_ts,
    array_append(r.evidence_event_ids, r.claim_event_id) AS evidence,
    CASE r.verdict
        WHEN 'phantom_execution' THEN 'The record says that ' || r.action || ' was executed; nothing shows that it was.'
        WHEN 'hidden_execution' THEN 'The record says that ' || r.action || ' was not executed, but it was.'
        WHEN 'unclaimed_execution' THEN r.action || ' took effect, and the record of the run does not mention it.'
        WHEN 'partial_as_executed' THEN r.action || ' took effect only in part; the record says that it was executed.'
        WHEN 'amount_break' THEN 'The record says ' || CAST(r.amount_claimed AS VARCHAR) || ' for ' || r.action
            || '; the evidence says ' || CAST(r.amount_evidenced AS VARCHAR) || '.'
        WHEN 'duplicate_execution' THEN r.action || ' took effect a second time under one idempotency key.'
        WHEN 'key_conflict' THEN 'The idempotency key ' || r.subject || ' was used for different inputs.'
        WHEN 'conflicting_claims' THEN 'Two records disagree on whether ' || r.action || ' was executed.'
        WHEN 'unreceipted_execution' THEN r.action || ' has no receipt, although its contract demands one.'
        ELSE 'Nobody can tell whether ' || r.action || ' took effect: the call got no answer and there is no receipt.'
    END AS message
FROM fct_reconciliation AS r
WHERE r.verdict <> 'matched'
