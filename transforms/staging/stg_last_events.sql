-- One row is the last event of one correlation id of one tenant, of whatever kind.
SELECT
    c.tenant_key,
    c.correlation_id,
    c.last_ts AS ts,
    c.last_us AS ts_us,
    max(e.event_id) AS event_id
FROM stg_correlations AS c
INNER JOIN scope_events AS e
    ON coalesce(e.tenant, '') = c.tenant_key AND e.correlation_id = c.correlation_id AND e.ts = c.last_ts
GROUP BY c.tenant_key, c.correlation_id, c.last_ts, c.last_us
