-- One row is the newest record of one correlation id, whichever decision id it has.
SELECT tenant_key, correlation_id, event_id
FROM stg_records
QUALIFY row_number() OVER (PARTITION BY tenant_key, correlation_id ORDER BY ts_us DESC, event_id DESC) = 1
