-- One row is one rubric's verdict in the newest record of a decision id.
SELECT
    r.event_id,
    r.tenant_key,
    r.correlation_id,
    r.decision_id,
    u.position - 1 AS position,
    u.verdict.rubric_id AS rubric_id,
    coalesce(u.verdict."pass", FALSE) AS passed,
    u.verdict.dims AS dims
FROM stg_records AS r
INNER JOIN scope_events AS e ON e.event_id = r.event_id
CROSS JOIN unnest(e.rubric_verdicts) WITH ORDINALITY AS u (verdict, position)
WHERE e.kind = 'decision.record'
