-- One row is one call that broke one rule about the contract of its tool.
-- @rule tool_undeclared medium
--   means: A tool was called that the policy knows nothing about, so nobody has said what it may do.
--   do: Write a contract for the tool, or stop the agent from using it.
--   satisfied by: a contract for this tool in the policy.
-- @rule caller_not_allowed high
--   means: An agent called a tool that its contract does not give to that agent.
--   do: Take the tool away from the caller, or add the caller to the contract if it should have it.
--   satisfied by: a call by one of the contract's allowed callers.
-- @rule privilege_mismatch high
--   means: The call ran with another privilege than the tool's contract says.
--   do: Correct the contract or the tool; what may write must not run under the rules for reading.
--   satisfied by: a call with the contract's privilege.
-- @rule side_effects_understated critical
--   means: The call played down what it changes, so the checks for real changes may not have looked at it.
--   do: Check what it changed, review it now, and mend the producer that reports it as harmless.
--   satisfied by: a call that states at least the side effects of the contract.
-- @rule undo_missing medium
--   means: A change was made that is said to be reversible, and nobody wrote down how to reverse it.
--   do: Have the tool report how its effect is undone, while somebody still remembers.
--   satisfied by: a filled `undo` on the attempt that took effect.
-- @rule digest_missing low
--   means: A call that changes things did not say which input it got, so nobody can compare it with what was approved.
--   do: Have the caller send the digest of the input with every mutating call.
--   satisfied by: an `input_digest` on every attempt.
-- @rule error_undeclared low
--   means: The tool failed in a way that its contract does not list, so no rule says what to do then.
--   do: Add the error to the contract, with what the caller has to do about it.
--   satisfied by: an `error_type` that the contract lists.
-- @rule injection_unflagged critical
--   means: A tool's answer tried to give orders to the agent, and the record of the run does not mention it.
--   do: Read what the tool sent, check what the agent did afterwards, and flag it in the record.
--   satisfied by: an injection finding in the record that names the call, the tool, or nothing in particular.
WITH calls AS (
    SELECT
        rule,
        tenant_key,
        correlation_id,
        call_id,
        list_sort(array_agg(event_id)) AS event_ids
    FROM int_contract_breaks
    GROUP BY rule, tenant_key, correlation_id, call_id
)

SELECT
    b.rule,
    'open' AS status,
    b.call_id AS subject,
    '' AS occurrence,
    b.correlation_id,
    b.run_id,
    NULLIF(b.tenant_key, '') AS tenant,
    b.caller,
    b.tool,
    CAST(NULL AS VARCHAR) AS gate,
    b.ts AS event_ts,
    array_append(c.event_ids, r.event_id) AS evidence,
    CASE b.rule
        WHEN 'tool_undeclared' THEN b.caller || ' called ' || b.tool || ', for which the policy has no contract.'
        WHEN 'caller_not_allowed' THEN b.caller || ' called ' || b.tool || ', which its contract gives only to others.'
        WHEN 'privilege_mismatch' THEN b.caller || ' called ' || b.tool || ' with the privilege ' || b.said
            || '; its contract says ' || b.agreed || '.'
        WHEN 'side_effects_understated' THEN b.caller || ' called ' || b.tool || ' as if its side effects were '
            || b.said || '; its contract says ' || b.agreed || '.'
        WHEN 'undo_missing' THEN b.caller || ' changed something with ' || b.tool || ' and did not say how to reverse it.'
        WHEN 'digest_missing' THEN b.caller || ' called ' || b.tool || ' to change something, without a digest of its input.'
        WHEN 'error_undeclared' THEN b.tool || ' failed with ' || b.said || ', which its contract does not list.'
        ELSE b.tool || ' gave instructions to ' || b.caller || ', and the record of the run does not mention it.'
    END AS message
FROM int_contract_breaks AS b
INNER JOIN calls AS c
    ON c.rule = b.rule
    AND c.tenant_key = b.tenant_key
    AND c.correlation_id = b.correlation_id
    AND c.call_id = b.call_id
LEFT JOIN stg_last_records AS r
    ON b.rule = 'injection_unflagged'
    AND r.tenant_key = b.tenant_key
    AND r.correlation_id = b.correlation_id
WHERE b.nth = 1
