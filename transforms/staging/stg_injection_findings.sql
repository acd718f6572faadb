-- One row is one instruction found in data that the newest record of a decision id admits to.
SELECT
    r.event_id,
    r.tenant_key,
    r.correlation_id,
    u.found.ref AS ref,
    -- A tool is named without regard to case, an id is not.
    lower(u.found.ref) AS ref_tool
FROM stg_records AS r
INNER JOIN scope_events AS e ON e.event_id = r.event_id
CROSS JOIN unnest(e.injection_findings) AS u (found)
WHERE e.kind = 'decision.record'
