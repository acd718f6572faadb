-- One row is the median or 90th percentile of the minutes from received to closed, of one segment on one UTC day (nearest rank).
-- @by day
WITH times AS (
    SELECT f."day", f.tenant_key, f.intent, f.priority, f.tier, f.minutes AS handling_minutes
    FROM fct_kpis AS f
    INNER JOIN scope_days AS d ON d."day" = f."day"
    WHERE f.kpi = 'handling_time'
),

segmented AS (
    SELECT "day", 'all' AS segment, handling_minutes FROM times
    UNION ALL
    SELECT "day", 'intent:' || intent, handling_minutes FROM times WHERE intent IS NOT NULL
    UNION ALL
    SELECT "day", 'priority:' || priority, handling_minutes FROM times WHERE priority IS NOT NULL
    UNION ALL
    SELECT "day", 'tier:' || tier, handling_minutes FROM times WHERE tier IS NOT NULL
    UNION ALL
    SELECT "day", 'tenant:' || tenant_key, handling_minutes FROM times WHERE tenant_key <> ''
),

ranked AS (
    SELECT
        "day", segment, handling_minutes,
        row_number() OVER (PARTITION BY "day", segment ORDER BY handling_minutes NULLS LAST) AS nth,
        count(handling_minutes) OVER (PARTITION BY "day", segment) AS known,
        count(*) OVER (PARTITION BY "day", segment) AS total
    FROM segmented
),

wanted AS (
    SELECT 'aht_proxy_median' AS kpi, 0.5 AS share
    UNION ALL
    SELECT 'aht_proxy_p90', 0.9
)

SELECT
    CAST(r."day" AS TIMESTAMP) AS period_start,
    CAST(r."day" AS TIMESTAMP) + INTERVAL '1' DAY AS period_end,
    r.segment,
    w.kpi,
    CASE WHEN r.known > 0 THEN r.handling_minutes END AS "value",
    r.known AS covered,
    r.total AS eligible,
    r.known / CAST(r.total AS DOUBLE) AS coverage,
    CASE WHEN r.known = 0 THEN 'unknown: no data' WHEN r.known < 30 THEN 'proxy; n < 30' ELSE 'proxy' END AS note
FROM ranked AS r
CROSS JOIN wanted AS w
WHERE r.nth = greatest(1, ceil(w.share * r.known))
