-- One row is one shipment of what an agent reported, without anybody's pass of the task or the artifact.
WITH reported AS (
    SELECT
        s.event_id, s.tenant_key, s.correlation_id, s.artifact_id, s.ts_us + t.clock_skew_us AS until_us, r.task_id,
        r.event_id AS report_event_id
    FROM stg_shipments AS s
    CROSS JOIN policy_time AS t
    INNER JOIN stg_reports AS r
        ON r.tenant_key = s.tenant_key
        AND r.correlation_id = s.correlation_id
        AND r.artifact_id = s.artifact_id
        AND r.ts_us <= s.ts_us + t.clock_skew_us
    WHERE r.claim IN ('completed', 'partial')
),

verified AS (
    SELECT DISTINCT p.event_id
    FROM reported AS p
    INNER JOIN stg_gate_decisions AS d
        ON d.tenant_key = p.tenant_key
        AND d.correlation_id = p.correlation_id
        AND (d.subject = p.task_id OR d.subject = p.artifact_id)
        AND d.ts_us <= p.until_us
    WHERE d.decision = 'passed'
),

evidence AS (
    SELECT event_id, report_event_id AS evidence_event_id FROM reported
    UNION
    SELECT event_id, event_id FROM reported
),

listed AS (
    SELECT event_id, list_sort(array_agg(evidence_event_id)) AS event_ids FROM evidence GROUP BY event_id
)

SELECT s.event_id, s.ts, s.tenant_key, s.correlation_id, s.run_id, s.artifact_id, s.shipped_by_name, l.event_ids,
    k.watermark_us <= s.ts_us + t.grace_us AS waits
FROM stg_shipments AS s
INNER JOIN listed AS l ON l.event_id = s.event_id
CROSS JOIN scope_clock AS k
CROSS JOIN policy_time AS t
WHERE NOT EXISTS (SELECT 1 FROM verified AS v WHERE v.event_id = s.event_id)
