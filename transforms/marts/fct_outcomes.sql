-- One row is how often one outcome came up in one run, by hour, tool and caller, counted by attempts or by calls.
WITH counted AS (
    SELECT tenant_key, correlation_id, date_trunc('hour', ts) AS "hour", tool, caller, 'attempt' AS level, outcome
    FROM stg_attempts
    UNION ALL
    SELECT coalesce(tenant, ''), correlation_id, date_trunc('hour', first_ts), tool, caller, 'call', outcome
    FROM tool_calls
)

SELECT tenant_key, correlation_id, "hour", tool, caller, level, outcome, count(*) AS n
FROM counted
GROUP BY tenant_key, correlation_id, "hour", tool, caller, level, outcome
