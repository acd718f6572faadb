-- One row is one event of an output-stamp hook; one that belongs to no ticket has no correlation id.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    epoch_us(date_trunc('day', e.ts)) + 86400000000 AS day_end_us,
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
WHERE e.kind LIKE 'xenia.%'
