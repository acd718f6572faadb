-- One row is one route decision: which task family a request got, and what it is known to have needed.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.task_family,
    u.task_family IS NOT NULL AS unknown_family,
    e.needed_privilege
FROM scope_events AS e
LEFT JOIN policy_unknown_families AS u ON u.task_family = lower(e.task_family)
WHERE e.kind = 'route.decision'
