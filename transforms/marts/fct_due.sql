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
    SELECT u.tenant_key, u.correlation_id, u.ts, 'watermark', u.last_us + t.run_timeout_us
    FROM int_unclosed_runs AS u
    CROSS JOIN policy_time AS t
    UNION
    SELECT tenant_key, correlation_id, CAST("day" AS TIMESTAMP), 'as_of', overdue_us
    FROM int_closed_runs
    WHERE overdue_us IS NOT NULL
)

SELECT m.tenant_key, m.correlation_id, m.ts, m.clock, m.due_us
FROM moments AS m
CROSS JOIN scope_clock AS k
WHERE m.due_us >= CASE m.clock WHEN 'watermark' THEN k.watermark_us ELSE k.as_of_us END
