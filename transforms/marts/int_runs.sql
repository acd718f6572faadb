-- One row is one run: the newest record of a decision id, or a correlation id that has no record (closed or still open).
WITH ticket_ends AS (
    SELECT
        t.*,
        row_number() OVER (PARTITION BY t.tenant_key, t.correlation_id ORDER BY t.ts_us DESC, t.event_id DESC) AS from_last
    FROM stg_ticket_events AS t
    WHERE t.kind IN ('xenia.ticket_resolved', 'xenia.escalated')
),

tickets AS (
    SELECT
        tenant_key,
        correlation_id,
        min(ts) FILTER (WHERE kind = 'xenia.ticket_created') AS created_at,
        min(ts_us) FILTER (WHERE kind = 'xenia.ticket_created') AS created_us,
        max(severity) FILTER (WHERE severity <> 'unknown') AS severity,
        max(category) AS category,
        max(sla_state) FILTER (WHERE sla_state = 'ok') AS is_ok,
        max(sla_state) FILTER (WHERE sla_state = 'warn') AS is_warn,
        max(sla_state) FILTER (WHERE sla_state = 'breach') AS is_breach,
        max(CASE WHEN outcome = 'delight' THEN 1 ELSE 0 END) AS delighted,
        max(CASE WHEN kind = 'xenia.escalated' THEN 1 ELSE 0 END) AS escalated,
        count(outcome) AS outcomes
    FROM stg_ticket_events
    GROUP BY tenant_key, correlation_id
),

dispatches AS (
    SELECT tenant_key, correlation_id, count(*) AS n
    FROM stg_simple_events
    WHERE kind = 'agent.dispatch'
    GROUP BY tenant_key, correlation_id
),

cycles AS (
    SELECT tenant_key, correlation_id, max(cycle) AS n
    FROM stg_gate_decisions
    GROUP BY tenant_key, correlation_id
),

scored AS (
    SELECT tenant_key, decision_id, avg(score) AS rubric_score
    FROM stg_scores
    WHERE decision_id IS NOT NULL
    GROUP BY tenant_key, decision_id
)

SELECT
    c.tenant_key,
    c.correlation_id,
    coalesce(r.run_id, c.run_id) AS run_id,
    r.decision_id,
    r.event_id AS record_event_id,
    coalesce(r.intent, t.category) AS intent,
    coalesce(r.priority, t.severity) AS priority,
    CASE
        WHEN r.terminal_state IS NOT NULL THEN r.terminal_state
        WHEN x.kind = 'xenia.ticket_resolved' THEN 'RESOLVED'
        WHEN x.kind = 'xenia.escalated' THEN 'ESCALATED_TO_HUMAN'
    END AS terminal_state,
    coalesce(r.received_at, t.created_at) AS received_at,
    r.first_response_at,
    CASE WHEN r.event_id IS NOT NULL THEN coalesce(r.resolved_at, r.ts) ELSE x.ts END AS terminal_at,
    coalesce(r.received_us, t.created_us) AS received_us,
    r.first_response_us,
    CASE WHEN r.event_id IS NOT NULL THEN r.terminal_us ELSE x.ts_us END AS terminal_us,
    CASE WHEN r.event_id IS NOT NULL THEN r.day_end_us ELSE x.day_end_us END AS day_end_us,
    c.first_ts,
    coalesce(r.dispatch_count, d.n) AS dispatches,
    coalesce(r.judge_cycles, y.n) AS judge_cycles,
    s.rubric_score,
    coalesce(r.cost_usd, x.cost_usd) AS cost_usd,
    coalesce(r.model_tier, x.model_tier) AS model_tier,
    coalesce(r.escalated, FALSE) OR coalesce(t.escalated, 0) = 1 AS escalated,
    coalesce(r.escalation_triggered, FALSE) AS escalation_triggered,
    r.follow_up_of,
    CASE
        WHEN r.sla_breached THEN 'breach'
        WHEN r.sla_state IS NOT NULL THEN r.sla_state
        ELSE coalesce(t.is_breach, t.is_warn, t.is_ok)
    END AS sla_state,
    t.outcomes > 0 AS has_outcome,
    t.delighted = 1 AS delighted,
    row_number() OVER (
        PARTITION BY c.tenant_key, c.correlation_id ORDER BY r.ts_us DESC NULLS LAST, r.event_id DESC NULLS LAST
    ) = 1 AS newest
FROM stg_correlations AS c
LEFT JOIN stg_records AS r ON r.tenant_key = c.tenant_key AND r.correlation_id = c.correlation_id
LEFT JOIN ticket_ends AS x
    ON x.tenant_key = c.tenant_key AND x.correlation_id = c.correlation_id AND x.from_last = 1
LEFT JOIN tickets AS t ON t.tenant_key = c.tenant_key AND t.correlation_id = c.correlation_id
LEFT JOIN dispatches AS d ON d.tenant_key = c.tenant_key AND d.correlation_id = c.correlation_id
LEFT JOIN cycles AS y ON y.tenant_key = c.tenant_key AND y.correlation_id = c.correlation_id
LEFT JOIN scored AS s ON s.tenant_key = c.tenant_key AND s.decision_id = r.decision_id
