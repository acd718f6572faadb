-- One row is one task that one gate passed on the word of somebody who had reported on it.
WITH own_passes AS (
    SELECT
        d.tenant_key, d.correlation_id, d.subject AS task_id, d.gate, d.ts, d.decided_by_name, r.run_id,
        d.event_id AS pass_event_id,
        r.event_id AS report_event_id,
        row_number() OVER (
            PARTITION BY d.tenant_key, d.correlation_id, d.subject, d.gate ORDER BY d.ts_us, d.event_id, r.event_id
        ) AS nth
    FROM stg_gate_decisions AS d
    INNER JOIN stg_reports AS r
        ON r.tenant_key = d.tenant_key
        AND r.correlation_id = d.correlation_id
        AND r.task_id = d.subject
        AND r.reported_by_name = d.decided_by_name
    WHERE d.decision = 'passed'
),

evidence AS (
    SELECT tenant_key, correlation_id, task_id, gate, pass_event_id AS event_id FROM own_passes
    UNION
    SELECT tenant_key, correlation_id, task_id, gate, report_event_id FROM own_passes
),

listed AS (
    SELECT tenant_key, correlation_id, task_id, gate, list_sort(array_agg(event_id)) AS event_ids
    FROM evidence
    GROUP BY tenant_key, correlation_id, task_id, gate
)

SELECT p.tenant_key, p.correlation_id, p.run_id, p.task_id, p.gate, p.ts, p.decided_by_name, l.event_ids
FROM own_passes AS p
INNER JOIN listed AS l
    ON l.tenant_key = p.tenant_key
    AND l.correlation_id = p.correlation_id
    AND l.task_id = p.task_id
    AND l.gate = p.gate
WHERE p.nth = 1
