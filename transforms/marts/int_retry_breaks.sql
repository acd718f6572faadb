-- One row is one call that broke one rule about retrying or giving up, with the attempt that broke it.
WITH steps AS (
    SELECT s.*, p.max_retries, p.same_input
    FROM int_attempt_steps AS s
    LEFT JOIN policy_retry AS p ON p.error_class = s.previous_class
    WHERE s.nth > 1
),

retried AS (
    SELECT 'retry_forbidden' AS rule, s.* FROM steps AS s
    WHERE s.max_retries = 0 AND s.previous_class IN ('permission_denied', 'tool_instructions')
    UNION ALL
    SELECT 'retry_over_limit', s.* FROM steps AS s
    WHERE s.retries_of_class > s.max_retries
        AND NOT (s.max_retries = 0 AND s.previous_class IN ('permission_denied', 'tool_instructions'))
    UNION ALL
    SELECT 'blind_retry', s.* FROM steps AS s
    WHERE s.previous_class = 'validation' AND s.same_input = 'forbidden' AND s.input_digest = s.previous_digest
    UNION ALL
    -- A refused call has changed nothing, so trying it again is no replay.
    SELECT 'unsafe_replay', s.* FROM steps AS s
    WHERE s.mutating
        AND (s.idempotency_key IS NULL OR s.previous_key IS NULL OR s.idempotency_key <> s.previous_key)
        AND s.previous_outcome <> 'denied'
        AND coalesce(s.previous_class, '') NOT IN ('permission_denied', 'validation')
),

first_breaks AS (
    SELECT
        r.rule, r.call_id, r.event_id, r.ts_us, r.previous_event_id,
        row_number() OVER (PARTITION BY r.rule, r.tenant_key, r.correlation_id, r.call_id ORDER BY r.nth) AS nth_break,
        count(*) OVER (PARTITION BY r.rule, r.tenant_key, r.correlation_id, r.call_id) AS times
    FROM retried AS r
),

gave_up AS (
    SELECT
        CASE WHEN p.must_surface THEN 'permission_unsurfaced' ELSE 'degrade_missing' END AS rule,
        c.call_id,
        c.last_event_id AS event_id,
        a.ts_us
    FROM tool_calls AS c
    INNER JOIN policy_retry AS p ON p.error_class = c.last_error_class
    INNER JOIN stg_attempts AS a ON a.event_id = c.last_event_id
    WHERE
        NOT c.escalated
        AND CASE
            -- Instructions from a tool must reach a person even when the call itself went through.
            WHEN p.must_surface THEN NOT c.noted
            ELSE c.outcome <> 'success' AND p.then_do IN ('degrade', 'escalate') AND NOT c.degraded
        END
),

unnoted AS (
    SELECT
        d.event_id,
        d.ts_us,
        coalesce(d.call_id, d.event_id) AS call_id,
        row_number() OVER (
            PARTITION BY d.tenant_key, d.correlation_id, coalesce(d.call_id, d.event_id) ORDER BY d.ts_us, d.event_id
        ) AS nth
    FROM stg_degradations AS d
    WHERE
        EXISTS (
            SELECT 1 FROM stg_records AS r
            WHERE r.tenant_key = d.tenant_key AND r.correlation_id = d.correlation_id
        )
        AND NOT EXISTS (
            SELECT 1 FROM stg_noted_degradations AS n
            WHERE
                n.newest
                AND n.tenant_key = d.tenant_key
                AND n.correlation_id = d.correlation_id
                AND (n.call_id = d.call_id OR n.tool = d.tool)
        )
),

all_breaks AS (
    SELECT rule, call_id, event_id, ts_us, previous_event_id, times, FALSE AS lacks_evidence FROM first_breaks
    WHERE nth_break = 1
    UNION ALL
    SELECT rule, call_id, event_id, ts_us, NULL, 1, TRUE FROM gave_up
    UNION ALL
    SELECT 'degrade_unnoted', call_id, event_id, ts_us, NULL, 1, TRUE FROM unnoted
    WHERE nth = 1
)

SELECT
    b.rule,
    e.tenant,
    b.call_id,
    e.correlation_id,
    e.run_id,
    e.caller,
    e.tool,
    e.ts,
    b.event_id,
    b.previous_event_id,
    b.times,
    b.lacks_evidence AND k.watermark_us <= b.ts_us + t.grace_us AS waits
FROM all_breaks AS b
INNER JOIN scope_events AS e ON e.event_id = b.event_id
CROSS JOIN scope_clock AS k
CROSS JOIN policy_time AS t
