-- One row is one decision that speaks for one required gate of one subject: given at a time, or standing in a record.
WITH stand_ins AS (
    -- A record's verdicts and clearance have no time of their own: they sort before every decision that has one.
    SELECT
        r.event_id,
        r.ts_us AS record_ts_us,
        r.tenant_key,
        r.correlation_id,
        g.gate,
        CASE WHEN r.clearance = 'cleared' THEN 'passed' ELSE 'blocked' END AS decision,
        2 AS part
    FROM stg_records AS r
    INNER JOIN policy_gate_stand_ins AS g ON g.stands_for = 'clearance'
    WHERE r.clearance IS NOT NULL
    UNION ALL
    SELECT
        r.event_id,
        r.ts_us,
        r.tenant_key,
        r.correlation_id,
        g.gate,
        CASE WHEN count(*) FILTER (WHERE NOT v.passed) = 0 THEN 'passed' ELSE 'blocked' END,
        1
    FROM stg_records AS r
    INNER JOIN stg_verdicts AS v ON v.event_id = r.event_id
    INNER JOIN policy_gate_stand_ins AS g ON g.stands_for = 'rubric_verdicts'
    GROUP BY r.event_id, r.ts_us, r.tenant_key, r.correlation_id, g.gate
)

SELECT
    s.event_id AS shipped_event_id,
    s.pipeline,
    g.gate,
    d.event_id,
    d.ts,
    d.ts_us,
    d.ts_us AS order_us,
    0 AS part,
    d.decision,
    d.decided_by,
    d.decided_by_name,
    d.digest,
    d.expires_us,
    FALSE AS stand_in,
    d.ts_us <= s.ts_us + t.clock_skew_us AS in_time
FROM int_pipeline_subjects AS s
INNER JOIN policy_pipeline_gates AS g ON g.pipeline = s.pipeline
INNER JOIN stg_gate_decisions AS d
    ON d.tenant_key = s.tenant_key
    AND d.correlation_id = s.correlation_id
    AND d.gate = g.gate
    AND d.subject = s.subject
CROSS JOIN policy_time AS t
UNION ALL
SELECT
    s.event_id,
    s.pipeline,
    g.gate,
    r.event_id,
    NULL,
    NULL,
    r.record_ts_us - 1000000000000000000,
    r.part,
    r.decision,
    NULL,
    NULL,
    NULL,
    NULL,
    TRUE,
    TRUE
FROM int_pipeline_subjects AS s
INNER JOIN policy_pipeline_gates AS g ON g.pipeline = s.pipeline
INNER JOIN stand_ins AS r
    ON r.tenant_key = s.tenant_key
    AND r.correlation_id = s.correlation_id
    AND r.gate = g.gate
