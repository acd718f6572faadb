-- One row is one correlation id of one tenant: everything that shares a ticket or an operation.
SELECT
    coalesce(tenant, '') AS tenant_key,
    correlation_id,
    min(ts) AS first_ts,
    max(ts) AS last_ts,
    epoch_us(max(ts)) AS last_us,
    CASE WHEN min(run_id) = max(run_id) THEN min(run_id) END AS run_id
FROM scope_events
WHERE correlation_id IS NOT NULL
GROUP BY coalesce(tenant, ''), correlation_id
