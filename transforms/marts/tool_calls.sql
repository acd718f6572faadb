-- One row is one tool call: all its attempts under one call id. The last attempt decides the outcome.
WITH sums AS (
    SELECT
        tenant_key,
        correlation_id,
        call_id,
        count(*) AS attempts,
        min(ts) AS first_ts,
        max(ts) AS last_ts,
        -- Decimals add up to the same sum in any order; see fct_kpis for the bound.
        CAST(sum(CAST(least(duration_ms, 1e15) AS DECIMAL(28, 9))) AS DOUBLE) AS duration_ms,
        CAST(sum(CAST(least(cost_usd, 1e15) AS DECIMAL(28, 9))) AS DOUBLE) AS cost_usd
    FROM int_attempt_steps
    GROUP BY tenant_key, correlation_id, call_id
),

first_errors AS (
    SELECT tenant_key, correlation_id, call_id, error_class
    FROM (
        SELECT
            tenant_key, correlation_id, call_id, error_class,
            row_number() OVER (PARTITION BY tenant_key, correlation_id, call_id ORDER BY nth) AS nth_error
        FROM int_attempt_steps
        WHERE error_class IS NOT NULL
    ) AS errors
    WHERE nth_error = 1
),

degraded AS (
    SELECT l.tenant_key, l.correlation_id, l.call_id
    FROM int_attempt_steps AS l
    INNER JOIN stg_degradations AS d
        ON d.tenant_key = l.tenant_key AND d.correlation_id = l.correlation_id AND d.call_id = l.call_id
    UNION
    SELECT l.tenant_key, l.correlation_id, l.call_id
    FROM int_attempt_steps AS l
    INNER JOIN stg_degradations AS d
        ON d.tenant_key = l.tenant_key
        AND d.correlation_id = l.correlation_id
        AND d.caller_name = l.caller_name
        AND d.tool = l.tool
    WHERE d.call_id IS NULL AND l.from_last = 1 AND l.outcome <> 'success'
),

noted AS (
    SELECT l.tenant_key, l.correlation_id, l.call_id
    FROM int_attempt_steps AS l
    INNER JOIN stg_noted_degradations AS n
        ON n.newest AND n.tenant_key = l.tenant_key AND n.correlation_id = l.correlation_id AND n.call_id = l.call_id
    UNION
    SELECT l.tenant_key, l.correlation_id, l.call_id
    FROM int_attempt_steps AS l
    INNER JOIN stg_noted_degradations AS n
        ON n.newest AND n.tenant_key = l.tenant_key AND n.correlation_id = l.correlation_id AND n.tool = l.tool
),

escalated AS (
    SELECT tenant_key, correlation_id FROM stg_records WHERE escalated
    UNION
    SELECT tenant_key, correlation_id FROM stg_ticket_events WHERE kind = 'xenia.escalated'
)

SELECT
    l.correlation_id,
    l.run_id,
    l.call_id,
    l.caller,
    l.tool,
    l.privilege,
    l.side_effects,
    l.layer,
    s.first_ts,
    s.last_ts,
    s.attempts,
    s.attempts - 1 AS retries,
    l.outcome,
    e.error_class,
    l.error_class AS last_error_class,
    s.attempts > 1 AND l.outcome = 'success' AS recovered,
    d.call_id IS NOT NULL AS degraded,
    d.call_id IS NOT NULL AND n.call_id IS NOT NULL AS degraded_noted,
    n.call_id IS NOT NULL AS noted,
    x.correlation_id IS NOT NULL AS escalated,
    s.duration_ms,
    s.cost_usd,
    l.event_id AS last_event_id,
    NULLIF(l.tenant_key, '') AS tenant
FROM int_attempt_steps AS l
INNER JOIN sums AS s ON s.tenant_key = l.tenant_key AND s.correlation_id = l.correlation_id AND s.call_id = l.call_id
LEFT JOIN first_errors AS e ON e.tenant_key = l.tenant_key AND e.correlation_id = l.correlation_id AND e.call_id = l.call_id
LEFT JOIN degraded AS d ON d.tenant_key = l.tenant_key AND d.correlation_id = l.correlation_id AND d.call_id = l.call_id
LEFT JOIN noted AS n ON n.tenant_key = l.tenant_key AND n.correlation_id = l.correlation_id AND n.call_id = l.call_id
LEFT JOIN escalated AS x ON x.tenant_key = l.tenant_key AND x.correlation_id = l.correlation_id
WHERE l.from_last = 1
