-- One row is the newest record of one decision id; an edited record is a later event under the same decision id.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    -- When the decision was recorded first: a later edit corrects the record and does not close the run again.
    epoch_us(min(e.ts) OVER (PARTITION BY e.tenant, e.decision_id)) AS first_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.decision_id,
    e.terminal_state,
    e.intent,
    e.priority,
    e.outcome,
    e.judge_cycles,
    e.clearance,
    e.sla.received_at AS received_at,
    e.sla.first_response_at AS first_response_at,
    e.sla.resolved_at AS resolved_at,
    epoch_us(e.sla.received_at) AS received_us,
    epoch_us(e.sla.first_response_at) AS first_response_us,
    epoch_us(coalesce(e.sla.resolved_at, e.ts)) AS terminal_us,
    -- A day is over, for what is counted by days, when its last microsecond is.
    epoch_us(date_trunc('day', coalesce(e.sla.resolved_at, e.ts))) + 86400000000 AS day_end_us,
    e.sla.state AS sla_state,
    e.sla.breached AS sla_breached,
    e.escalation.triggered AS escalation_triggered,
    e.terminal_state = 'ESCALATED_TO_HUMAN' OR coalesce(e.escalation.triggered, FALSE) AS escalated,
    e.dispatch_count,
    e.follow_up_of,
    e.cost_usd,
    e.model_tier
FROM scope_events AS e
WHERE e.kind = 'decision.record'
QUALIFY row_number() OVER (PARTITION BY e.tenant, e.decision_id ORDER BY e.ts DESC, e.event_id DESC) = 1
