-- One row is the calls of one tool and caller that started in one hour, by the first error class that they met (null: none).
-- @by hour
SELECT
    f."hour",
    f.tool,
    f.caller,
    f.error_class,
    CAST(sum(f.calls) AS BIGINT) AS calls,
    CAST(sum(f.attempts) AS BIGINT) AS attempts,
    CAST(sum(f.retries) AS BIGINT) AS retries,
    CAST(sum(f.recovered) AS BIGINT) AS recovered,
    CAST(sum(f.degraded) AS BIGINT) AS degraded,
    CAST(sum(f.degraded_noted) AS BIGINT) AS degraded_noted,
    CAST(sum(f.escalated) AS BIGINT) AS escalated,
    CAST(sum(f.violations) AS BIGINT) AS violations,
    NULLIF(f.tenant_key, '') AS tenant,
    CAST(sum(f.duplicate_effects) AS BIGINT) AS duplicate_effects
FROM fct_retries AS f
INNER JOIN scope_hours AS h ON h."hour" = f."hour"
GROUP BY f."hour", f.tool, f.caller, f.error_class, f.tenant_key
