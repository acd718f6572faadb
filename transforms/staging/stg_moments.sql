-- One row is one event and when it happened.
SELECT
    coalesce(tenant, '') AS tenant_key,
    correlation_id,
    ts,
    epoch_us(ts) AS ts_us
FROM scope_events
