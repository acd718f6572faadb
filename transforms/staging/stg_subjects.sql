-- One row is one event that a pipeline may guard, with every field that a pipeline's applies_to can look at, as text.
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
    lower(coalesce(e.author, e.by, e.actor, e.caller, e.agent)) AS author_alias,
    coalesce(e.digest, e.input_digest) AS digest,
    e.tenant,
    e.source,
    e.caller,
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
    e.model_tier,
    CAST(e.verified AS VARCHAR) AS verified,
    e.phase,
    e.channel,
    CASE WHEN e.kind LIKE 'xenia.%' THEN 'true' ELSE CAST(e.customer_facing AS VARCHAR) END AS customer_facing,
    coalesce(e.by, e.agent) AS "by",
    e.author,
    e.action,
    e.actor,
    e.claim
FROM scope_events AS e
-- A ticket file that names no ticket is a shipment all the same: nothing can have passed it.
WHERE
    e.kind IN ('artifact.shipment', 'tool.invocation', 'agent.report', 'action.proposal')
    OR (e.kind LIKE 'xenia.%' AND e.path IS NOT NULL AND e.phase IN ('tickets', 'escalations'))
