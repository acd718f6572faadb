-- One row is one gate that one shipment (or other subject of a pipeline) had to pass, and what became of it.
WITH disordered AS (
    SELECT DISTINCT c.shipped_event_id, c.pipeline, c.gate
    FROM int_gate_relied AS c
    INNER JOIN int_gate_relied AS b
        ON b.shipped_event_id = c.shipped_event_id AND b.pipeline = c.pipeline AND b.position < c.position
    WHERE
        c.status = 'passed'
        AND b.status = 'passed'
        AND NOT c.stand_in
        AND NOT b.stand_in
        AND (b.order_us > c.order_us OR (b.order_us = c.order_us AND b.decision_event_id > c.decision_event_id))
),

late AS (
    SELECT
        shipped_event_id,
        pipeline,
        gate,
        event_id,
        ts,
        decided_by,
        row_number() OVER (PARTITION BY shipped_event_id, pipeline, gate ORDER BY ts_us, event_id) AS nth
    FROM int_gate_evidence
    WHERE NOT in_time AND decision = 'passed'
),

declared AS (
    -- Said beforehand, so not silent: a skip or waiver that still held and that no earlier shipment had used up, or a
    -- record that admits the gate was out.
    SELECT e.shipped_event_id, e.pipeline, e.gate
    FROM int_gate_evidence AS e
    INNER JOIN int_pipeline_subjects AS s ON s.event_id = e.shipped_event_id AND s.pipeline = e.pipeline
    WHERE
        e.in_time
        AND e.decision IN ('skipped', 'waived')
        AND (e.expires_us IS NULL OR e.expires_us >= s.ts_us)
        AND (s.previous_ts_us IS NULL OR e.ts_us > s.previous_ts_us)
    UNION
    SELECT s.event_id, s.pipeline, g.gate
    FROM int_pipeline_subjects AS s
    INNER JOIN policy_pipeline_gates AS g ON g.pipeline = s.pipeline
    INNER JOIN stg_noted_degradations AS n
        ON n.tenant_key = s.tenant_key AND n.correlation_id = s.correlation_id AND n.ts_us <= s.ts_us
    LEFT JOIN int_gate_causes AS c ON c.shipped_event_id = s.event_id AND c.pipeline = s.pipeline AND c.gate = g.gate
    WHERE n.tool = g.gate OR n.call_id = c.call_id
),

settled AS (
    SELECT
        r.*,
        s.tenant_key,
        s.correlation_id,
        s.run_id,
        s.subject,
        s.caller,
        s.tool,
        s.ts AS shipped_ts,
        s.ts_us AS shipped_us,
        CASE WHEN d.gate IS NULL THEN r.status ELSE 'gate_out_of_order' END AS verdict,
        r.undecided AND r.status <> 'gate_late' AND k.watermark_us <= s.ts_us + s.grace_us AS waits
    FROM int_gate_relied AS r
    INNER JOIN int_pipeline_subjects AS s ON s.event_id = r.shipped_event_id AND s.pipeline = r.pipeline
    LEFT JOIN disordered AS d
        ON d.shipped_event_id = r.shipped_event_id AND d.pipeline = r.pipeline AND d.gate = r.gate
    CROSS JOIN scope_clock AS k
)

SELECT
    s.correlation_id,
    s.subject,
    s.shipped_event_id,
    s.shipped_ts,
    s.pipeline,
    s.gate,
    s.position,
    CASE WHEN s.waits THEN 'pending' ELSE s.verdict END AS status,
    coalesce(e.decided_by, l.decided_by) AS decided_by,
    coalesce(e.ts, l.ts) AS decided_ts,
    coalesce(s.decision_event_id, l.event_id) AS decision_event_id,
    CASE WHEN s.verdict = 'gate_errored_open' THEN c.event_id END AS cause_event_id,
    s.verdict IN ('gate_missing', 'gate_errored_open', 'gate_late', 'gate_stale', 'gate_reused', 'gate_out_of_order')
    AND NOT s.waits
    AND d.gate IS NULL AS silent,
    NULLIF(s.tenant_key, '') AS tenant,
    s.run_id,
    s.caller,
    s.tool,
    s.verdict,
    s.stand_in,
    coalesce(e.ts_us > s.shipped_us, FALSE) AS within_skew
FROM settled AS s
LEFT JOIN int_gate_evidence AS e
    ON e.shipped_event_id = s.shipped_event_id
    AND e.pipeline = s.pipeline
    AND e.gate = s.gate
    AND e.event_id = s.decision_event_id
    AND NOT e.stand_in
LEFT JOIN late AS l
    ON s.verdict = 'gate_late'
    AND l.shipped_event_id = s.shipped_event_id
    AND l.pipeline = s.pipeline
    AND l.gate = s.gate
    AND l.nth = 1
LEFT JOIN int_gate_causes AS c
    ON c.shipped_event_id = s.shipped_event_id AND c.pipeline = s.pipeline AND c.gate = s.gate
LEFT JOIN declared AS d ON d.shipped_event_id = s.shipped_event_id AND d.pipeline = s.pipeline AND d.gate = s.gate
