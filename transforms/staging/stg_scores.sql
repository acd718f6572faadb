-- One row is one dimension's score (0 to 3) that a piece of work was given, by a record's verdicts or by a gate decision.
SELECT
    v.event_id,
    r.ts_us,
    v.tenant_key,
    v.correlation_id,
    v.decision_id,
    v.decision_id AS judged,
    u.dim.name AS dimension,
    u.dim."value" AS score
FROM stg_verdicts AS v
INNER JOIN stg_records AS r ON r.event_id = v.event_id
CROSS JOIN unnest(v.dims) AS u (dim)
UNION ALL
SELECT
    e.event_id,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    NULL AS decision_id,
    e.subject AS judged,
    u.score.name AS dimension,
    u.score."value" AS score
FROM scope_events AS e
CROSS JOIN unnest(e.scores) AS u (score)
WHERE e.kind = 'gate.decision'
