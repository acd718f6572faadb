-- One row is one call that was retried, or given up, against the policy.
-- @rule retry_over_limit medium
--   means: The call was retried more often than the policy allows for that kind of error.
--   do: Lower the retry count of the caller; after the limit it must take its fallback.
--   satisfied by: at most the allowed number of retries.
-- @rule retry_forbidden high
--   means: The call was retried after a refusal that a retry cannot mend.
--   do: Escalate a missing permission or odd instructions instead of trying again.
--   satisfied by: no retry after that error class.
-- @rule blind_retry medium
--   means: The input had been rejected and exactly the same input was sent again.
--   do: Correct the input before trying again.
--   satisfied by: a changed input.
-- @rule unsafe_replay high
--   means: A call that changes things was repeated without its idempotency key; it may have happened twice.
--   do: Check for a double effect, and send the same key with each attempt.
--   satisfied by: the same idempotency key on every attempt.
-- @rule degrade_missing medium
--   means: The call gave up and neither its fallback nor an escalation followed.
--   do: Wire the documented fallback; check what the customer got instead.
--   satisfied by: a tool.degradation event, or an escalation.
-- @rule degrade_unnoted medium
--   means: A fallback was taken and the record of the run does not say so.
--   do: Add it to the record; the reader believes the full service was given.
--   satisfied by: the tool or call among the record's degradations.
-- @rule permission_unsurfaced high
--   means: A call was refused, or a tool gave instructions, and no person was told.
--   do: Tell the owner; grant the permission or stop the attempt.
--   satisfied by: an escalation, or the call noted among the record's degradations.
SELECT
    b.rule,
    CASE WHEN b.waits THEN 'pending' ELSE 'open' END AS status,
    b.call_id AS subject,
    '' AS occurrence,
    b.correlation_id,
    b.run_id,
    b.tenant,
    b.caller,
    b.tool,
    CAST(NULL AS VARCHAR) AS gate,
    b.ts AS event_ts,
    ARRAY[b.previous_event_id, b.event_id] AS evidence,
    CASE b.rule
        WHEN 'retry_over_limit' THEN b.caller || ' retried ' || b.tool || ' more often than allowed ('
            || CAST(b.times AS VARCHAR) || ' too many).'
        WHEN 'retry_forbidden' THEN b.caller || ' retried ' || b.tool || ' after a refusal that a retry cannot mend.'
        WHEN 'blind_retry' THEN b.caller || ' sent ' || b.tool || ' the same rejected input again.'
        WHEN 'unsafe_replay' THEN b.caller || ' repeated ' || b.tool || ', which changes things, without its idempotency key.'
        WHEN 'degrade_missing' THEN b.caller || ' gave up on ' || b.tool || ' without fallback or escalation.'
        WHEN 'degrade_unnoted' THEN b.caller || ' took a fallback for ' || b.tool || ' that the record does not mention.'
        ELSE b.caller || ' called ' || b.tool || ', which ended in a way that a person has to hear of, and told nobody.'
    END AS message
FROM int_retry_breaks AS b
