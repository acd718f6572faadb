-- One row is one outcome of one tool and caller in one hour, counted by attempts or by calls, with its Wilson 95 % interval.
WITH counted AS (
    SELECT date_trunc('hour', ts) AS "hour", tool, caller, NULLIF(tenant_key, '') AS tenant, 'attempt' AS level, outcome
    FROM stg_attempts
    UNION ALL
    SELECT date_trunc('hour', first_ts), tool, caller, tenant, 'call', outcome
    FROM tool_calls
),

totals AS (
    SELECT
        "hour", tool, caller, tenant, level, outcome,
        count(*) AS n,
        sum(count(*)) OVER (PARTITION BY "hour", tool, caller, tenant, level) AS total
    FROM counted
    GROUP BY "hour", tool, caller, tenant, level, outcome
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
