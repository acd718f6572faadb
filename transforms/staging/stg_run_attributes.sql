-- One row is one thing that one record or ticket event says of its run, as text, for the `when` of a pipeline.
-- The agent goes by its canonical name; what people write of a ticket is in lower case.
WITH facts AS (
    SELECT
        e.event_id,
        coalesce(e.tenant, '') AS tenant_key,
        coalesce(e.correlation_id, e.ticket_id) AS correlation_id,
        coalesce(e.priority, e.severity) AS priority,
        lower(coalesce(e.intent, e.category)) AS intent,
        e.terminal_state,
        e.outcome,
        e.clearance,
        e.phase,
        coalesce(n.agent, lower(e.agent)) AS agent,
        coalesce(e.sla_state, e.sla.state) AS sla_state,
        coalesce(e.severity, e.priority) AS severity,
        lower(coalesce(e.category, e.intent)) AS category
    FROM scope_events AS e
    LEFT JOIN policy_agents AS n ON n.alias = lower(e.agent)
    WHERE e.kind = 'decision.record' OR e.kind LIKE 'xenia.%'
)

SELECT event_id, tenant_key, correlation_id, field, "value"
FROM facts
UNPIVOT ("value" FOR field IN (priority, intent, terminal_state, outcome, clearance, phase, agent, sla_state, severity, category))
WHERE correlation_id IS NOT NULL
