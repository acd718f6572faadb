-- One row is one decision of a gate about one subject.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.gate,
    e.subject,
    e.decision,
    e.by AS decided_by,
    coalesce(n.agent, lower(e.by)) AS decided_by_name,
    e.digest,
    epoch_us(e.expires_at) AS expires_us,
    e.cycle,
    e.reason
FROM scope_events AS e
LEFT JOIN policy_agents AS n ON n.alias = lower(e.by)
WHERE e.kind = 'gate.decision'
