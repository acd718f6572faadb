-- One row is one report, pass or shipment that went past the ownership or the verification of a task.
-- @rule foreign_report high
--   means: Somebody reported on a task that was another's at that time.
--   do: Ask the holder of the task what the state is, and do not build on the report until it is confirmed.
--   satisfied by: a report by the agent that holds the task's lease.
-- @rule lease_expired_report medium
--   means: The report came from an agent whose lease on the task had ended.
--   do: Check that nobody else took the task up meanwhile; let agents renew a lease before they go on working.
--   satisfied by: a lease that is renewed in time, or a report before it ends.
-- @rule self_verified high
--   means: The agent that did the work passed it itself.
--   do: Have somebody else verify the task, and take the pass as void until then.
--   satisfied by: a pass by somebody who made no report on the task.
-- @rule shipped_unverified critical
--   means: What an agent had produced left the house, and nobody had verified it.
--   do: Verify it now, and recall it if it fails; ship only what has been passed.
--   satisfied by: a decision `passed` about the task or the artifact before the shipment.
SELECT
    l.verdict AS rule,
    'open' AS status,
    r.task_id AS subject,
    r.event_id AS occurrence,
    r.correlation_id,
    r.run_id,
    NULLIF(r.tenant_key, '') AS tenant,
    r.reported_by_name AS caller,
    CAST(NULL AS VARCHAR) AS tool,
    CAST(NULL AS VARCHAR) AS gate,
    r.ts AS event_ts,
    ARRAY[r.event_id, l.held_event_id, l.last_event_id, l.taken_over_event_id] AS evidence,
    CASE
        WHEN l.verdict = 'lease_expired_report' THEN r.reported_by_name || ' reported on ' || r.task_id
            || ' when its lease on the task had ended.'
        WHEN l.taken_over_event_id IS NOT NULL THEN r.reported_by_name || ' reported on ' || r.task_id
            || ', which had been given to ' || l.holder_name || ' meanwhile.'
        ELSE r.reported_by_name || ' reported on ' || r.task_id || ', which was the task of ' || l.holder_name || '.'
    END AS message
FROM int_report_leases AS l
INNER JOIN stg_reports AS r ON r.event_id = l.report_event_id
WHERE l.verdict <> 'held'
UNION ALL
SELECT
    'self_verified',
    'open',
    s.task_id,
    '',
    s.correlation_id,
    s.run_id,
    NULLIF(s.tenant_key, ''),
    s.decided_by_name,
    NULL,
    s.gate,
    s.ts,
    s.event_ids,
    s.decided_by_name || ' passed ' || s.task_id || ' at the gate ' || s.gate || ' and had reported on it itself.'
FROM int_self_verified AS s
UNION ALL
SELECT
    'shipped_unverified',
    CASE WHEN u.waits THEN 'pending' ELSE 'open' END,
    u.artifact_id,
    u.event_id,
    u.correlation_id,
    u.run_id,
    NULLIF(u.tenant_key, ''),
    u.shipped_by_name,
    NULL,
    NULL,
    u.ts,
    u.event_ids,
    u.artifact_id || ' was shipped, and nobody had verified it.'
FROM int_unverified_shipments AS u
