-- One row is one fallback that one version of a record admits to; `newest` marks the version that counts now.
WITH noted AS (
    SELECT event_id, ts, tenant, correlation_id, decision_id, unnest(degradations) AS noted
    FROM scope_events
    WHERE kind = 'decision.record'
)

SELECT
    e.event_id,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.decision_id,
    r.event_id IS NOT NULL AS newest,
    e.noted.tool AS tool,
    e.noted.call_id AS call_id
FROM noted AS e
LEFT JOIN stg_records AS r ON r.event_id = e.event_id
