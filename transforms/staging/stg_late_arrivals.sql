-- One row is one event that came when its source had long been further on in time.
SELECT
    e.event_id,
    e.ts,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.caller,
    e.tool,
    coalesce(e.source, 'unknown') AS source
FROM scope_events AS e
CROSS JOIN policy_time AS t
WHERE epoch_us(e.floor_ts) - t.allowed_lateness_us > epoch_us(e.ts)
