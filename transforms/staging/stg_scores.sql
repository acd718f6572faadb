-- One row is one dimension's score (0 to 3) that a run's work was given, by a rubric verdict or by a gate decision.
SELECT
    v.event_id,
    v.tenant_key,
    v.correlation_id,
    v.decision_id,
    u.dim.name AS dimension,
    u.dim."value" AS score
FROM stg_verdicts AS v
CROSS JOIN unnest(v.dims) AS u (dim)
UNION ALL
SELECT
    e.event_id,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    NULL AS decision_id,
    u.score.name AS dimension,
    u.score."value" AS score
FROM scope_events AS e
CROSS JOIN unnest(e.scores) AS u (score)
WHERE e.kind = 'gate.decision'
