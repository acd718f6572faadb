-- One row is one ticket event of an output-stamp hook that belongs to a ticket.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    coalesce(e.correlation_id, e.ticket_id) AS correlation_id,
    e.run_id,
    e.kind,
    e.agent,
    e.phase,
    e.severity,
    e.category,
    e.outcome,
    e.sla_state,
    e.cost_usd,
    e.model_tier
FROM scope_events AS e
WHERE e.kind LIKE 'xenia.%' AND coalesce(e.correlation_id, e.ticket_id) IS NOT NULL
