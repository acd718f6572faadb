-- One row is one KPI of one segment on one UTC day (of the runs' terminal time). A period is the sum of numerators over the
-- sum of denominators; the medians have none and come from `runs`.
WITH facts AS (
    SELECT * FROM int_kpi_run_facts
    UNION ALL
    SELECT * FROM int_kpi_event_facts
    UNION ALL
    SELECT coalesce(r."day", CAST(date_trunc('day', g.ts) AS DATE)), g.tenant_key, r.intent, r.priority, r.tier,
        'gate_reliability', g.held, 1.0, 1, 1
    FROM int_gate_outcomes AS g
    LEFT JOIN int_closed_runs AS r ON r.tenant_key = g.tenant_key AND r.correlation_id = g.correlation_id AND r.newest
),

segmented AS (
    SELECT "day", 'all' AS segment, kpi, numerator, denominator, eligible, covered FROM facts
    UNION ALL
    SELECT "day", 'intent:' || intent, kpi, numerator, denominator, eligible, covered FROM facts WHERE intent IS NOT NULL
    UNION ALL
    SELECT "day", 'priority:' || priority, kpi, numerator, denominator, eligible, covered FROM facts
    WHERE priority IS NOT NULL
    UNION ALL
    SELECT "day", 'tier:' || tier, kpi, numerator, denominator, eligible, covered FROM facts WHERE tier IS NOT NULL
    UNION ALL
    SELECT "day", 'tenant:' || tenant_key, kpi, numerator, denominator, eligible, covered FROM facts WHERE tenant_key <> ''
    UNION ALL
    SELECT coalesce(r."day", CAST(date_trunc('day', g.ts) AS DATE)), 'gate:' || g.gate, 'gate_reliability', g.held, 1.0, 1, 1
    FROM int_gate_outcomes AS g
    LEFT JOIN int_closed_runs AS r ON r.tenant_key = g.tenant_key AND r.correlation_id = g.correlation_id AND r.newest
),

summed AS (
    SELECT
        "day", segment, kpi,
        sum(numerator) AS numerator,
        CAST(sum(denominator) AS DOUBLE) AS denominator,
        CAST(sum(covered) AS BIGINT) AS covered,
        CAST(sum(eligible) AS BIGINT) AS eligible,
        sum(covered) / CAST(NULLIF(sum(eligible), 0) AS DOUBLE) AS coverage
    FROM segmented
    GROUP BY "day", segment, kpi
),

ratios AS (
    SELECT
        s.*,
        s.kpi NOT IN ('cost_per_resolution', 'csat', 'kb_gaps_filed', 'kb_gaps_closed') AS proportion,
        CASE WHEN s.denominator IS NULL THEN s.numerator WHEN s.denominator > 0 THEN s.numerator / s.denominator END AS "value"
    FROM summed AS s
)

SELECT
    CAST("day" AS TIMESTAMP) AS period_start,
    CAST("day" AS TIMESTAMP) + INTERVAL '1' DAY AS period_end,
    segment,
    kpi,
    "value",
    numerator,
    denominator,
    CASE WHEN proportion AND denominator > 0 THEN greatest(0.0, (numerator + 1.920729
        - 1.959964 * sqrt(numerator * (denominator - numerator) / denominator + 0.960365)) / (denominator + 3.841459)) END AS ci_low,
    CASE WHEN proportion AND denominator > 0 THEN least(1.0, (numerator + 1.920729
        + 1.959964 * sqrt(numerator * (denominator - numerator) / denominator + 0.960365)) / (denominator + 3.841459)) END AS ci_high,
    coverage,
    CASE
        WHEN denominator = 0 AND kpi = 'fcr' THEN 'immature: the window has not passed'
        WHEN denominator = 0 AND kpi IN ('escalation_precision', 'escalation_recall', 'csat') THEN 'not measured: no feedback'
        WHEN denominator = 0 THEN 'unknown: no data'
        ELSE NULLIF(concat_ws(
            '; ',
            CASE
                WHEN coverage < 1 AND kpi = 'fcr' THEN 'younger days are immature and left out'
                WHEN coverage < 0.8 THEN 'partial data'
            END,
            CASE WHEN kpi IN ('escalation_precision_proxy', 'csat_sentiment_proxy') THEN 'proxy' END,
            CASE WHEN denominator < 30 THEN 'n < 30' END
        ), '')
    END AS note,
    kpi || '/1' AS definition,
    covered,
    eligible
FROM ratios
UNION ALL
SELECT "period_start", period_end, segment, kpi, "value", NULL, NULL, NULL, NULL, coverage, note, kpi || '/1', covered, eligible
FROM int_handling_times
