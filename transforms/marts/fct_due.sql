-- One row is a time at which a run must be judged again though nothing new arrives, by the watermark or by the newest event.
-- More times than needed cost a little work; one too few would leave a row as it was, so every event counts with every grace.
WITH graces AS (
    SELECT grace_us FROM policy_time
    UNION
    SELECT grace_us FROM policy_pipelines
),

moments AS (
    SELECT e.tenant_key, e.correlation_id, e.ts, 'watermark' AS clock, e.ts_us + g.grace_us AS due_us
    FROM stg_moments AS e
    CROSS JOIN graces AS g
    UNION
    -- A run that somebody started and nobody has closed yet.
    SELECT c.tenant_key, c.correlation_id, c.last_ts, 'watermark', c.last_us + t.run_timeout_us
    FROM stg_correlations AS c
    INNER JOIN stg_simple_events AS d
        ON d.kind = 'agent.dispatch' AND d.tenant_key = c.tenant_key AND d.correlation_id = c.correlation_id
    LEFT JOIN stg_records AS r ON r.tenant_key = c.tenant_key AND r.correlation_id = c.correlation_id
    CROSS JOIN policy_time AS t
    WHERE r.event_id IS NULL
    UNION
    SELECT tenant_key, correlation_id, CAST("day" AS TIMESTAMP), 'as_of', overdue_us
    FROM int_closed_runs
    WHERE overdue_us IS NOT NULL
)

SELECT m.tenant_key, m.correlation_id, m.ts, m.clock, m.due_us
FROM moments AS m
CROSS JOIN scope_clock AS k
WHERE m.due_us >= CASE m.clock WHEN 'watermark' THEN k.watermark_us ELSE k.as_of_us END
