-- One row is one record that ends a run otherwise than the record before it, and neither follows it up nor was asked for.
WITH ordered AS (
    SELECT
        r.event_id, r.ts, r.ts_us, r.tenant_key, r.correlation_id, r.run_id, r.decision_id, r.terminal_state,
        r.follow_up_of,
        lag(r.event_id) OVER steps AS earlier_event_id,
        lag(r.ts_us) OVER steps AS earlier_us,
        lag(r.run_id) OVER steps AS earlier_run_id,
        lag(r.decision_id) OVER steps AS earlier_decision_id,
        lag(r.terminal_state) OVER steps AS earlier_state
    FROM stg_records AS r
    WINDOW steps AS (PARTITION BY r.tenant_key, r.correlation_id ORDER BY r.ts_us, r.event_id)
)

SELECT o.*
FROM ordered AS o
WHERE
    o.terminal_state <> o.earlier_state
    AND (o.run_id = o.earlier_run_id OR o.run_id IS NULL OR o.earlier_run_id IS NULL)
    AND (o.follow_up_of IS NULL OR o.follow_up_of NOT IN (o.earlier_decision_id, o.correlation_id))
    AND NOT EXISTS (
        SELECT 1 FROM stg_reopenings AS f
        WHERE
            f.tenant_key = o.tenant_key
            AND f.correlation_id = o.correlation_id
            AND f.ts_us BETWEEN o.earlier_us AND o.ts_us
    )
