-- One row is one tool that a route decision granted.
SELECT
    e.event_id,
    u.tool AS tool
FROM scope_events AS e
CROSS JOIN unnest(e.granted_tools) AS u (tool)
WHERE e.kind = 'route.decision'
