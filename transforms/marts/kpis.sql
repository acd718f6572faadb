-- One row is one KPI of one segment on one UTC day (of the runs' terminal time). A period is the sum of numerators over the
-- sum of denominators; the medians have none and come from `runs`.
-- @by day
WITH facts AS (
    -- What is not old enough to be judged is eligible, and nothing more.
    SELECT
        f."day", f.tenant_key, f.intent, f.priority, f.tier, f.gate, f.kpi, f.eligible,
        CASE WHEN f.from_us > k.as_of_us THEN 0 ELSE f.numerator END AS numerator,
        CASE WHEN f.from_us > k.as_of_us THEN 0 ELSE f.denominator END AS denominator,
        CASE WHEN f.from_us > k.as_of_us THEN 0 ELSE f.covered END AS covered
    FROM fct_kpis AS f
    INNER JOIN scope_days AS d ON d."day" = f."day"
    CROSS JOIN scope_clock AS k
    WHERE f.kpi <> 'handling_time'
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
    SELECT "day", 'gate:' || gate, kpi, numerator, denominator, eligible, covered FROM facts WHERE gate IS NOT NULL
),

summed AS (
    SELECT
        "day", segment, kpi,
        CAST(sum(numerator) AS DOUBLE) AS numerator,
        CAST(sum(denominator) AS DOUBLE) AS denominator,
        CAST(sum(covered) AS BIGINT) AS covered,
        CAST(sum(eligible) AS BIGINT) AS eligible,
        CAST(sum(covered) AS DOUBLE) / CAST(NULLIF(sum(eligible), 0) AS DOUBLE) AS coverage
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
