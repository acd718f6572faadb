-- One row is one event that names the model tier an agent ran on, beside the tier that the policy expects of that agent.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    n.agent,
    lower(e.model_tier) AS model_tier,
    lower(n.model_tier) AS expected_tier
FROM scope_events AS e
INNER JOIN policy_agents AS n ON n.alias = lower(coalesce(e.caller, e.agent))
WHERE
    (e.kind = 'tool.invocation' OR e.kind LIKE 'xenia.%')
    AND e.model_tier IS NOT NULL
    AND n.model_tier IS NOT NULL
    -- A file that belongs to no ticket belongs to no run.
    AND e.correlation_id IS NOT NULL
