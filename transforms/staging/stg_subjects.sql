-- One row is one event that a pipeline may guard, with every field that a pipeline's applies_to can look at, as text.
-- What is compared without regard to case is there as it is compared (*_name): agents by canonical name.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    coalesce(e.correlation_id, e.ticket_id) AS correlation_id,
    e.run_id,
    CASE WHEN e.kind LIKE 'xenia.%' THEN 'artifact.shipment' ELSE e.kind END AS kind,
    CASE e.kind
        WHEN 'artifact.shipment' THEN e.artifact_id
        WHEN 'tool.invocation' THEN coalesce(e.call_id, e.event_id)
        WHEN 'agent.report' THEN e.task_id
        WHEN 'action.proposal' THEN e.proposal_id
        ELSE e.path
    END AS subject,
    coalesce(e.attempt, 1) AS attempt,
    coalesce(e.digest, e.input_digest) AS digest,
    e.tenant,
    e.source,
    e.caller,
    coalesce(c.agent, e.caller) AS caller_name,
    e.tool,
    e.privilege,
    e.side_effects,
    e.outcome,
    e.operation,
    e.layer,
    e.error_class,
    e.target,
    e.currency,
    e.model,
    lower(e.model_tier) AS model_tier_name,
    CAST(e.verified AS VARCHAR) AS verified,
    e.phase,
    e.channel,
    CASE WHEN e.kind LIKE 'xenia.%' THEN 'true' ELSE CAST(e.customer_facing AS VARCHAR) END AS customer_facing,
    coalesce(b.agent, lower(coalesce(e.by, e.agent))) AS by_name,
    coalesce(w.agent, lower(e.author)) AS author_name,
    lower(e.action) AS action_name,
    coalesce(p.agent, lower(e.actor)) AS actor_name,
    e.claim
FROM scope_events AS e
LEFT JOIN policy_agents AS c ON c.alias = e.caller
LEFT JOIN policy_agents AS b ON b.alias = lower(coalesce(e.by, e.agent))
LEFT JOIN policy_agents AS w ON w.alias = lower(e.author)
LEFT JOIN policy_agents AS p ON p.alias = lower(e.actor)
-- A ticket file that names no ticket is a shipment all the same: nothing can have passed it.
WHERE
    e.kind IN ('artifact.shipment', 'tool.invocation', 'agent.report', 'action.proposal')
    OR (e.kind LIKE 'xenia.%' AND e.path IS NOT NULL AND e.phase IN ('tickets', 'escalations'))
