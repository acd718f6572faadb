-- One row is one attempt of a call, with the attempt before it and how many retries followed that error class so far.
WITH ordered AS (
    SELECT
        a.*,
        row_number() OVER steps AS nth,
        row_number() OVER (
            PARTITION BY a.tenant_key, a.correlation_id, a.call_id
            ORDER BY a.attempt DESC, a.ts_us DESC, a.event_id DESC
        ) AS from_last,
        lag(a.event_id) OVER steps AS previous_event_id,
        lag(a.outcome) OVER steps AS previous_outcome,
        lag(a.error_class) OVER steps AS previous_class,
        lag(a.input_digest) OVER steps AS previous_digest,
        lag(a.idempotency_key) OVER steps AS previous_key
    FROM stg_attempts AS a
    WINDOW steps AS (PARTITION BY a.tenant_key, a.correlation_id, a.call_id ORDER BY a.attempt, a.ts_us, a.event_id)
)

SELECT
    o.*,
    row_number() OVER (
        PARTITION BY o.tenant_key, o.correlation_id, o.call_id, o.previous_class
        ORDER BY o.attempt, o.ts_us, o.event_id
    ) AS retries_of_class
FROM ordered AS o
