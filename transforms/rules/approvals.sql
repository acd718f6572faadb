-- One row is one effect that needed somebody's approval and did not have it as the policy demands.
-- @rule approval_missing critical
--   means: Something that needs an approval was done without one.
--   do: Ask the approver now; reverse the action if the answer is no.
--   satisfied by: an approval of this action before it was executed.
-- @rule approval_declined_executed critical
--   means: The approver said no and it was done all the same.
--   do: Reverse the action and close the path that ignored the answer.
--   satisfied by: an approval instead of the refusal, or no execution.
-- @rule approval_expired high
--   means: The approval no longer held when the action was executed.
--   do: Ask again before executing; check why it waited so long.
--   satisfied by: an approval that is still valid at the time of execution.
-- @rule approval_not_human high
--   means: The approval came from a kind of approver that the policy does not accept for this.
--   do: Have a person confirm it now.
--   satisfied by: an approval by an accepted kind of approver.
-- @rule approval_mismatch critical
--   means: What was executed is not what was approved: another action or another target.
--   do: Check whether the wrong record or customer was touched, and undo it.
--   satisfied by: an approval of exactly this action and target.
-- @rule approval_exceeded critical
--   means: More was executed than had been approved.
--   do: Recover the difference or have it approved.
--   satisfied by: an approval whose limit covers the amount.
-- @rule approval_reused high
--   means: A single-use approval was used for a second action.
--   do: Ask for an approval of its own for each action.
--   satisfied by: an approval of its own.
-- @rule confirmation_stale high
--   means: The input was changed after it had been confirmed.
--   do: Compare both versions, and confirm again after every change.
--   satisfied by: an approval whose digest is the executed input's.
-- @rule execution_after_supersession critical
--   means: Safety had stopped ordinary execution, and a mutating action ran afterwards.
--   do: Reverse it and find out which path does not heed the stop.
--   satisfied by: no mutating action after the supersession.
SELECT
    a.status AS rule,
    CASE
        WHEN a.status = 'approval_missing' AND k.watermark_us <= a.ts_us + t.grace_us THEN 'pending' ELSE 'open'
    END AS status,
    coalesce(a.attempt_event_id, a.receipt_event_id) AS subject,
    '' AS occurrence,
    a.correlation_id,
    a.run_id,
    NULLIF(a.tenant_key, '') AS tenant,
    a.caller,
    a.tool,
    CAST(NULL AS VARCHAR) AS gate,
    a.ts AS event_ts,
    ARRAY[a.attempt_event_id, a.receipt_event_id, a.decision_event_id] AS evidence,
    CASE a.status
        WHEN 'approval_missing' THEN a.action || ' was executed without an approval.'
        WHEN 'approval_declined_executed' THEN a.action || ' was executed although ' || a.decided_by || ' had declined it.'
        WHEN 'approval_expired' THEN a.action || ' was executed on an approval that no longer held.'
        WHEN 'approval_not_human' THEN a.action || ' was executed on the word of ' || a.decided_by
            || ', whose kind may not approve it.'
        WHEN 'approval_mismatch' THEN a.action || ' was executed on an approval of another action or target.'
        WHEN 'approval_exceeded' THEN a.action || ' was executed for ' || CAST(a.amount AS VARCHAR) || '; only '
            || CAST(a.amount_limit AS VARCHAR) || ' was approved.'
        WHEN 'approval_reused' THEN a.action || ' was executed on an approval that had already been used.'
        ELSE a.action || ' was executed with another input than the confirmed one.'
    END AS message
FROM int_approval_checks AS a
CROSS JOIN scope_clock AS k
CROSS JOIN policy_time AS t
WHERE a.status <> 'approved'
UNION ALL
SELECT
    'execution_after_supersession',
    'open',
    coalesce(e.attempt_event_id, e.receipt_event_id),
    '',
    e.correlation_id,
    e.run_id,
    NULLIF(e.tenant_key, ''),
    e.caller,
    e.tool,
    NULL,
    e.ts,
    ARRAY[min(s.event_id), e.attempt_event_id, e.receipt_event_id],
    e.action || ' was executed after safety had stopped ordinary execution.'
FROM int_effects AS e
INNER JOIN stg_simple_events AS s
    ON s.kind = 'safety.supersession'
    AND s.tenant_key = e.tenant_key
    AND s.correlation_id = e.correlation_id
    AND (s.ts_us < e.ts_us OR (s.ts_us = e.ts_us AND s.event_id < coalesce(e.attempt_event_id, e.receipt_event_id)))
GROUP BY
    e.attempt_event_id, e.receipt_event_id, e.correlation_id, e.run_id, e.tenant_key, e.caller, e.tool, e.ts, e.action
