-- One row is the calls of one run, tool and caller that started in one hour, by the first error class that they met.
WITH broken AS (
    SELECT coalesce(tenant, '') AS tenant_key, correlation_id, call_id, count(*) AS n
    FROM int_retry_breaks
    GROUP BY coalesce(tenant, ''), correlation_id, call_id
),

-- A retry that took effect a second time is the price of a low error count; the two stand side by side.
doubled AS (
    SELECT tenant_key, correlation_id, call_id, count(*) AS n
    FROM int_effects
    WHERE duplicate AND attempt_event_id IS NOT NULL
    GROUP BY tenant_key, correlation_id, call_id
)

SELECT
    coalesce(c.tenant, '') AS tenant_key,
    c.correlation_id,
    date_trunc('hour', c.first_ts) AS "hour",
    c.tool,
    c.caller,
    c.error_class,
    count(*) AS calls,
    CAST(sum(c.attempts) AS BIGINT) AS attempts,
    CAST(sum(c.retries) AS BIGINT) AS retries,
    CAST(sum(CASE WHEN c.recovered THEN 1 ELSE 0 END) AS BIGINT) AS recovered,
    CAST(sum(CASE WHEN c.degraded THEN 1 ELSE 0 END) AS BIGINT) AS degraded,
    CAST(sum(CASE WHEN c.degraded_noted THEN 1 ELSE 0 END) AS BIGINT) AS degraded_noted,
    CAST(sum(CASE WHEN c.outcome <> 'success' AND c.escalated THEN 1 ELSE 0 END) AS BIGINT) AS escalated,
    CAST(sum(coalesce(b.n, 0)) AS BIGINT) AS violations,
    CAST(sum(coalesce(d.n, 0)) AS BIGINT) AS duplicate_effects
FROM tool_calls AS c
LEFT JOIN broken AS b
    ON b.tenant_key = coalesce(c.tenant, '') AND b.correlation_id = c.correlation_id AND b.call_id = c.call_id
LEFT JOIN doubled AS d
    ON d.tenant_key = coalesce(c.tenant, '') AND d.correlation_id = c.correlation_id AND d.call_id = c.call_id
GROUP BY c.tenant, c.correlation_id, date_trunc('hour', c.first_ts), c.tool, c.caller, c.error_class
