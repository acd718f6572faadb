-- One row is one documented fallback that was taken instead of a call.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.caller,
    coalesce(n.agent, e.caller) AS caller_name,
    e.tool,
    e.call_id,
    e.fallback,
    e.error_class
FROM scope_events AS e
LEFT JOIN policy_agents AS n ON n.alias = e.caller
WHERE e.kind = 'tool.degradation'
