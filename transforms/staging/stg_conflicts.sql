-- One row is one event whose id came a second time with another content.
SELECT
    e.event_id,
    e.ts,
    c.tenant_key,
    e.correlation_id,
    e.run_id,
    e.caller,
    e.tool,
    c.n AS rejected
FROM scope_conflicts AS c
INNER JOIN scope_events AS e ON e.event_id = c.event_id
