-- One row is what one score, piece of feedback, route decision, ticket event or gate adds to one KPI of its run.
WITH run AS (
    SELECT tenant_key, correlation_id, "day", intent, priority, tier, closed, handed_over FROM int_closed_runs WHERE newest
),

-- A record's own scores stand for its run; gate decisions speak only where the record is silent on that dimension.
scores AS (
    -- A piece of work counts once, by its newest scores; of several rubrics on one dimension the worst counts.
    SELECT
        s.*,
        max(CASE WHEN s.decision_id IS NOT NULL THEN 1 ELSE 0 END) OVER (
            PARTITION BY s.tenant_key, s.correlation_id, s.dimension
        ) AS recorded,
        row_number() OVER (
            PARTITION BY s.tenant_key, s.correlation_id, s.dimension, s.decision_id, s.judged
            ORDER BY s.ts_us DESC, s.event_id DESC, s.score
        ) AS from_last
    FROM stg_scores AS s
    WHERE s.dimension IN ('no-false-deflection', 'grounded-in-kb')
),

judged AS (
    SELECT
        tenant_key, correlation_id,
        CASE WHEN dimension = 'grounded-in-kb' THEN 'grounding' ELSE 'false_deflection' END AS kpi,
        CASE WHEN dimension = 'grounded-in-kb' AND score = 3 THEN 1.0
            WHEN dimension = 'no-false-deflection' AND score = 0 THEN 1.0 ELSE 0.0 END AS numerator
    FROM scores
    WHERE from_last = 1 AND (recorded = 0 OR decision_id IS NOT NULL)
),

feedback AS (
    SELECT tenant_key, correlation_id, 'escalation_precision' AS kpi,
        CASE WHEN signal = 'escalation_warranted' THEN 1.0 ELSE 0.0 END AS numerator
    FROM stg_simple_events WHERE signal IN ('escalation_warranted', 'escalation_unwarranted')
    UNION ALL
    SELECT tenant_key, correlation_id, 'escalation_recall', CASE WHEN signal = 'escalation_warranted' THEN 1.0 ELSE 0.0 END
    FROM stg_simple_events WHERE signal IN ('escalation_warranted', 'missed_escalation')
    UNION ALL
    SELECT tenant_key, correlation_id, 'csat', "value"
    FROM stg_simple_events WHERE signal = 'csat' AND "value" IS NOT NULL
),

rated AS (
    SELECT * FROM judged
    UNION ALL
    SELECT * FROM feedback
),

asked AS (
    SELECT 'grounding' AS kpi UNION ALL SELECT 'false_deflection' UNION ALL SELECT 'escalation_precision'
    UNION ALL SELECT 'escalation_recall' UNION ALL SELECT 'csat'
),

answered AS (
    SELECT DISTINCT tenant_key, correlation_id, kpi FROM rated
),

routed AS (
    SELECT tenant_key, correlation_id, ts,
        CASE WHEN needed_privilege IS NULL THEN 0 ELSE 1 END AS labelled,
        CASE WHEN more_than_read THEN 1.0 ELSE 0.0 END AS over_scoped,
        CASE WHEN withheld THEN 1.0 ELSE 0.0 END AS under_scoped
    FROM int_route_checks
),

single AS (
    SELECT tenant_key, correlation_id, ts, 'over_scoping' AS kpi, over_scoped AS numerator, labelled AS denominator,
        labelled AS covered
    FROM routed
    UNION ALL
    SELECT tenant_key, correlation_id, ts, 'under_scoping', under_scoped, labelled, labelled FROM routed
    UNION ALL
    SELECT tenant_key, correlation_id, ts, CASE WHEN outcome = 'resolved' THEN 'kb_gaps_closed' ELSE 'kb_gaps_filed' END,
        1.0, NULL, 1
    FROM stg_ticket_events WHERE phase = 'kb-gaps'
)

SELECT r."day", r.tenant_key, r.correlation_id, r.intent, r.priority, r.tier, f.kpi, f.numerator, 1.0 AS denominator, 0 AS eligible, 0 AS covered
FROM rated AS f
INNER JOIN run AS r ON r.tenant_key = f.tenant_key AND r.correlation_id = f.correlation_id
UNION ALL
SELECT r."day", r.tenant_key, r.correlation_id, r.intent, r.priority, r.tier, a.kpi, 0.0, 0.0, 1,
    CASE WHEN f.kpi IS NULL THEN 0 ELSE 1 END
FROM run AS r
CROSS JOIN asked AS a
LEFT JOIN answered AS f ON f.tenant_key = r.tenant_key AND f.correlation_id = r.correlation_id AND f.kpi = a.kpi
-- Only a hand-over can have been warranted; any run may be one where it was missed.
WHERE r.closed AND (r.handed_over OR a.kpi <> 'escalation_precision' OR f.kpi IS NOT NULL)
UNION ALL
SELECT r."day", r.tenant_key, r.correlation_id, r.intent, r.priority, r.tier, 'csat_response_rate',
    CASE WHEN f.kpi IS NULL THEN 0.0 ELSE 1.0 END, 1.0, 1, 1
FROM run AS r
LEFT JOIN answered AS f ON f.tenant_key = r.tenant_key AND f.correlation_id = r.correlation_id AND f.kpi = 'csat'
WHERE r.closed
UNION ALL
SELECT coalesce(r."day", CAST(date_trunc('day', s.ts) AS DATE)), s.tenant_key, s.correlation_id, r.intent, r.priority, r.tier, s.kpi,
    s.numerator, s.denominator, 1, s.covered
FROM single AS s
LEFT JOIN run AS r ON r.tenant_key = s.tenant_key AND r.correlation_id = s.correlation_id
