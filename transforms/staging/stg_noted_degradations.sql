-- One row is one fallback that one version of a record admits to; `newest` marks the version that counts now.
SELECT
    e.event_id,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.decision_id,
    r.event_id IS NOT NULL AS newest,
    u.noted.tool AS tool,
    u.noted.call_id AS call_id
FROM scope_events AS e
CROSS JOIN unnest(e.degradations) AS u (noted)
LEFT JOIN stg_records AS r ON r.event_id = e.event_id
WHERE e.kind = 'decision.record'
