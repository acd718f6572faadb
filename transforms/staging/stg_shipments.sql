-- One row is one shipment of an artifact.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.artifact_id,
    coalesce(n.agent, lower(e.by)) AS shipped_by_name
FROM scope_events AS e
LEFT JOIN policy_agents AS n ON n.alias = lower(e.by)
WHERE e.kind = 'artifact.shipment'
