-- One row is one time that a person said a run was not over: it was reopened, complained about, or its answer rejected.
SELECT
    event_id,
    ts,
    ts_us,
    tenant_key,
    correlation_id
FROM stg_simple_events
WHERE kind = 'human.feedback' AND signal IN ('reopened', 'complaint', 'resolution_rejected')
