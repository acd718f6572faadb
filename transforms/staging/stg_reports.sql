-- One row is one report of an agent on its task.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.task_id,
    e.lease_id,
    e.by AS reported_by,
    coalesce(n.agent, lower(e.by)) AS reported_by_name,
    e.claim,
    e.artifact_id
FROM scope_events AS e
LEFT JOIN policy_agents AS n ON n.alias = lower(e.by)
WHERE e.kind = 'agent.report'
