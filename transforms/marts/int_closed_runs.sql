-- One row is one run as the KPIs see it: its day, its segments, and the few yes-or-no facts that they add up.
WITH again AS (
    SELECT tenant_key, correlation_id AS key, 'run' AS part, event_id, ts_us, signal
    FROM stg_simple_events
    WHERE kind = 'human.feedback' AND signal IN ('reopened', 'complaint')
    UNION ALL
    -- A record may follow up a decision or a run.
    SELECT r.tenant_key, r.follow_up_of, p.part, r.event_id, r.ts_us, 'follow_up'
    FROM stg_records AS r
    CROSS JOIN (SELECT 'run' AS part UNION ALL SELECT 'decision') AS p
    WHERE r.follow_up_of IS NOT NULL
),

broken AS (
    SELECT tenant_key, correlation_id, count(*) AS n
    FROM fct_reconciliation
    WHERE status NOT IN ('matched', 'pending')
    GROUP BY tenant_key, correlation_id
),

ended AS (
    SELECT tenant_key, correlation_id, decision_id, record_event_id, terminal_us, 'run' AS part, correlation_id AS key
    FROM int_runs
    WHERE terminal_at IS NOT NULL
    UNION ALL
    SELECT tenant_key, correlation_id, decision_id, record_event_id, terminal_us, 'decision', decision_id
    FROM int_runs
    WHERE terminal_at IS NOT NULL
),

troubled AS (
    SELECT
        e.tenant_key,
        e.correlation_id,
        e.decision_id,
        max(CASE WHEN a.signal IN ('reopened', 'complaint') THEN 1 ELSE 0 END) AS reopened_or_complained,
        max(CASE WHEN a.signal IN ('reopened', 'follow_up') THEN 1 ELSE 0 END) AS contacted_again
    FROM ended AS e
    INNER JOIN again AS a ON a.tenant_key = e.tenant_key AND a.part = e.part AND a.key = e.key
    CROSS JOIN policy_time AS t
    WHERE
        a.ts_us >= e.terminal_us
        AND a.ts_us <= e.terminal_us + t.fcr_window_us
        AND (e.record_event_id IS NULL OR a.event_id <> e.record_event_id)
    GROUP BY e.tenant_key, e.correlation_id, e.decision_id
)

SELECT
    r.tenant_key,
    r.correlation_id,
    r.decision_id,
    r.newest,
    CAST(date_trunc('day', coalesce(r.terminal_at, r.received_at, r.first_ts)) AS DATE) AS "day",
    r.intent,
    r.priority,
    r.model_tier AS tier,
    r.terminal_state IS NOT NULL AS closed,
    r.terminal_state = 'RESOLVED' AS resolved,
    r.terminal_state = 'RESOLVED' AND NOT r.escalated AS contained,
    coalesce(x.reopened_or_complained, 0) = 1 OR coalesce(b.n, 0) > 0 AS unverified,
    coalesce(x.contacted_again, 0) = 1 AS contacted_again,
    -- A day is judged as a whole, once the window of its last minute has passed.
    r.day_end_us + t.fcr_window_us AS mature_us,
    r.terminal_state = 'ESCALATED_TO_HUMAN' AS handed_over,
    r.escalation_triggered,
    CASE
        WHEN r.terminal_state IS NOT NULL AND r.sla_state IS NOT NULL THEN r.sla_state
        WHEN r.sla_state = 'breach' THEN 'breach'
        WHEN coalesce(r.first_response_us, r.terminal_us) - r.received_us > p.first_response_us THEN 'breach'
        WHEN coalesce(r.first_response_us, r.terminal_us) - r.received_us > p.warn_us THEN 'warn'
        WHEN coalesce(r.first_response_at, r.terminal_at) IS NOT NULL AND r.received_at IS NOT NULL
            AND p.first_response_us IS NOT NULL THEN 'ok'
        -- Still waiting and already too late is a breach, not a gap in the data.
        WHEN r.terminal_state IS NULL AND r.first_response_at IS NULL
            AND k.as_of_us - r.received_us > p.first_response_us THEN 'breach'
    END AS sla_state,
    CASE WHEN r.terminal_state IS NULL AND r.first_response_at IS NULL THEN r.received_us + p.first_response_us END AS overdue_us,
    r.cost_usd,
    r.has_outcome,
    r.delighted,
    (r.terminal_us - r.received_us) / 60000000.0 AS handling_minutes
FROM int_runs AS r
CROSS JOIN policy_time AS t
CROSS JOIN scope_clock AS k
LEFT JOIN troubled AS x
    ON x.tenant_key = r.tenant_key AND x.correlation_id = r.correlation_id AND x.decision_id IS NOT DISTINCT FROM r.decision_id
LEFT JOIN broken AS b ON b.tenant_key = r.tenant_key AND b.correlation_id = r.correlation_id
LEFT JOIN policy_sla AS p ON p.priority = r.priority
