-- One row is one correlation id with the ceilings of its run: its command's, or the default where there is no such command.
WITH commands AS (
    -- Several commands in one run: none of them speaks for the whole.
    SELECT
        tenant_key,
        correlation_id,
        CASE WHEN min(command) = max(command) THEN min(command) END AS command
    FROM stg_simple_events
    WHERE kind = 'agent.dispatch'
    GROUP BY tenant_key, correlation_id
)

SELECT
    r.tenant_key,
    r.correlation_id,
    r.run_id,
    CASE WHEN b.command IS NOT NULL THEN b.dispatches ELSE d.dispatches END AS dispatches,
    CASE WHEN b.command IS NOT NULL THEN b.judge_cycles ELSE d.judge_cycles END AS judge_cycles,
    CASE WHEN b.command IS NOT NULL THEN b.retries_per_caller ELSE d.retries_per_caller END AS retries_per_caller
FROM stg_correlations AS r
LEFT JOIN commands AS c ON c.tenant_key = r.tenant_key AND c.correlation_id = r.correlation_id
LEFT JOIN policy_budgets AS b ON b.command = c.command
LEFT JOIN policy_budgets AS d ON d.command = 'default'
