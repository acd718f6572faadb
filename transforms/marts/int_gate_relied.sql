-- One row is one required gate of one subject, with the last decision in time and what it was worth (steps 1 to 6 of the rules).
WITH last_decisions AS (
    SELECT
        e.*,
        row_number() OVER (
            PARTITION BY e.shipped_event_id, e.pipeline, e.gate
            ORDER BY e.order_us DESC, e.event_id DESC, e.part DESC
        ) AS from_last
    FROM int_gate_evidence AS e
    WHERE e.in_time
),

late AS (
    SELECT
        shipped_event_id,
        pipeline,
        gate,
        min(ts_us) FILTER (WHERE decision = 'passed') AS passed_us
    FROM int_gate_evidence
    WHERE NOT in_time
    GROUP BY shipped_event_id, pipeline, gate
),

judged AS (
    SELECT
        s.event_id AS shipped_event_id,
        s.pipeline,
        s.tenant_key,
        s.correlation_id,
        s.ts_us AS shipped_us,
        g.gate,
        g.position,
        d.event_id AS decision_event_id,
        d.order_us,
        coalesce(d.stand_in, FALSE) AS stand_in,
        coalesce(
            NOT d.stand_in AND s.binding = 'per_digest' AND s.digest IS NOT NULL AND d.digest IS NOT NULL, FALSE
        ) AS reusable,
        CASE
            WHEN d.event_id IS NULL AND l.passed_us IS NOT NULL THEN 'gate_late'
            WHEN d.event_id IS NULL AND c.event_id IS NOT NULL THEN 'gate_errored_open'
            WHEN d.event_id IS NULL THEN 'gate_missing'
            WHEN d.decision = 'blocked' THEN 'gate_blocked_shipped'
            WHEN d.decision = 'errored' THEN 'gate_errored_open'
            WHEN d.decision = 'skipped' THEN 'gate_skipped'
            WHEN d.decision = 'waived' THEN 'gate_waived'
            WHEN d.stand_in THEN 'passed'
            WHEN v.gate IS NOT NULL AND r.gate IS NULL THEN 'gate_foreign_reviewer'
            WHEN s.separate_author AND d.decided_by_name = s.author_name THEN 'gate_self_passed'
            WHEN d.digest <> s.digest THEN 'gate_stale'
            WHEN d.expires_us < s.ts_us THEN 'gate_stale'
            WHEN s.ts_us - d.ts_us > p.max_age_us THEN 'gate_stale'
            ELSE 'passed'
        END AS status,
        d.event_id IS NULL AS undecided
    FROM int_pipeline_subjects AS s
    INNER JOIN policy_pipeline_gates AS g ON g.pipeline = s.pipeline
    INNER JOIN policy_gates AS p ON p.gate = g.gate
    LEFT JOIN last_decisions AS d
        ON d.shipped_event_id = s.event_id AND d.pipeline = s.pipeline AND d.gate = g.gate AND d.from_last = 1
    LEFT JOIN late AS l ON l.shipped_event_id = s.event_id AND l.pipeline = s.pipeline AND l.gate = g.gate
    LEFT JOIN int_gate_causes AS c ON c.shipped_event_id = s.event_id AND c.pipeline = s.pipeline AND c.gate = g.gate
    LEFT JOIN (SELECT DISTINCT gate FROM policy_gate_reviewers) AS v ON v.gate = g.gate
    LEFT JOIN policy_gate_reviewers AS r ON r.gate = g.gate AND r.reviewer = d.decided_by_name
),

used AS (
    SELECT
        j.*,
        row_number() OVER (
            PARTITION BY j.pipeline, j.gate, j.tenant_key, j.correlation_id, j.decision_event_id, j.status, s.subject
            ORDER BY j.shipped_us, j.shipped_event_id
        ) AS nth_use
    FROM judged AS j
    INNER JOIN int_pipeline_subjects AS s ON s.event_id = j.shipped_event_id AND s.pipeline = j.pipeline
)

SELECT
    shipped_event_id,
    pipeline,
    gate,
    position,
    decision_event_id,
    order_us,
    stand_in,
    undecided,
    CASE WHEN status = 'passed' AND NOT reusable AND nth_use > 1 THEN 'gate_reused' ELSE status END AS status
FROM used
