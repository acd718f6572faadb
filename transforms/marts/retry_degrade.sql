-- One row is the calls of one tool and caller that started in one hour, by the first error class that they met (null: none).
WITH broken AS (
    SELECT coalesce(tenant, '') AS tenant_key, correlation_id, call_id, count(*) AS n
    FROM int_retry_breaks
    GROUP BY coalesce(tenant, ''), correlation_id, call_id
)

SELECT
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
    c.tenant
FROM tool_calls AS c
LEFT JOIN broken AS b
    ON b.tenant_key = coalesce(c.tenant, '') AND b.correlation_id = c.correlation_id AND b.call_id = c.call_id
GROUP BY date_trunc('hour', c.first_ts), c.tool, c.caller, c.error_class, c.tenant
