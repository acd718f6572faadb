-- One row is one required gate of one subject whose reviewer's own call failed before the shipment: why it never decided.
WITH tried AS (
    SELECT
        s.event_id AS shipped_event_id,
        s.pipeline,
        g.gate,
        a.event_id,
        a.ts_us,
        a.call_id,
        a.outcome,
        row_number() OVER (
            PARTITION BY s.event_id, s.pipeline, g.gate, a.call_id
            ORDER BY a.attempt DESC, a.ts_us DESC, a.event_id DESC
        ) AS from_last
    FROM int_pipeline_subjects AS s
    INNER JOIN policy_pipeline_gates AS g ON g.pipeline = s.pipeline
    INNER JOIN policy_gate_reviewers AS r ON r.gate = g.gate
    INNER JOIN stg_attempts AS a
        ON a.tenant_key = s.tenant_key AND a.correlation_id = s.correlation_id AND a.caller_name = r.reviewer
    WHERE
        (a.ts_us < s.ts_us OR (a.ts_us = s.ts_us AND a.event_id < s.event_id))
        AND (
            s.previous_ts_us IS NULL
            OR a.ts_us > s.previous_ts_us
            OR (a.ts_us = s.previous_ts_us AND a.event_id > s.previous_event_id)
        )
),

failed AS (
    SELECT
        shipped_event_id,
        pipeline,
        gate,
        event_id,
        call_id,
        row_number() OVER (PARTITION BY shipped_event_id, pipeline, gate ORDER BY ts_us DESC, event_id DESC) AS from_last
    FROM tried
    WHERE from_last = 1 AND outcome IN ('failed', 'unavailable', 'denied', 'stale_target')
)

SELECT shipped_event_id, pipeline, gate, event_id, call_id
FROM failed
WHERE from_last = 1
