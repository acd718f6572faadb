-- One row is one outcome of one tool and caller in one hour, counted by attempts or by calls, with its Wilson 95 % interval.
-- @by hour
WITH totals AS (
    SELECT
        f."hour", f.tool, f.caller, NULLIF(f.tenant_key, '') AS tenant, f.level, f.outcome,
        CAST(sum(f.n) AS BIGINT) AS n,
        sum(sum(f.n)) OVER (PARTITION BY f."hour", f.tool, f.caller, f.tenant_key, f.level) AS total
    FROM fct_outcomes AS f
    INNER JOIN scope_hours AS h ON h."hour" = f."hour"
    GROUP BY f."hour", f.tool, f.caller, f.tenant_key, f.level, f.outcome
)

-- Wilson score interval (Wilson 1927), z = 1.959964 for 95 %.
SELECT
    "hour",
    tool,
    caller,
    level,
    outcome,
    n,
    CAST(total AS BIGINT) AS total,
    n / CAST(total AS DOUBLE) AS rate,
    greatest(0.0, (n + 1.920729 - 1.959964 * sqrt(n * (total - n) / CAST(total AS DOUBLE) + 0.960365)) / (total + 3.841459))
        AS ci_low,
    least(1.0, (n + 1.920729 + 1.959964 * sqrt(n * (total - n) / CAST(total AS DOUBLE) + 0.960365)) / (total + 3.841459))
        AS ci_high,
    tenant
FROM totals
