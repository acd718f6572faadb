-- One row is one change of a task's ownership: a lease was granted, renewed, given back or taken away.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.task_id,
    e.lease_id,
    e.holder,
    coalesce(n.agent, lower(e.holder)) AS holder_name,
    e.state,
    e.state IN ('granted', 'renewed') AS holds,
    epoch_us(e.expires_at) AS expires_us
FROM scope_events AS e
LEFT JOIN policy_agents AS n ON n.alias = lower(e.holder)
WHERE e.kind = 'agent.lease'
