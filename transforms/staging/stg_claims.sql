-- One row is one claim: an element of actions_attempted of the newest record of a decision id.
SELECT
    r.event_id,
    r.ts,
    r.ts_us,
    r.tenant_key,
    r.correlation_id,
    r.run_id,
    r.decision_id,
    u.position - 1 AS position,
    u.claim.action AS action,
    coalesce(g.action_group, lower(u.claim.action)) AS action_group,
    u.claim.executed AS executed,
    u.claim."by" AS claimed_by,
    u.claim.target AS target,
    u.claim.call_id AS call_id,
    u.claim.receipt_id AS receipt_id,
    u.claim.idempotency_key AS idempotency_key,
    u.claim.amount AS amount
FROM stg_records AS r
INNER JOIN scope_events AS e ON e.event_id = r.event_id
CROSS JOIN unnest(e.actions_attempted) WITH ORDINALITY AS u (claim, position)
LEFT JOIN policy_actions AS g ON g.name = lower(u.claim.action)
WHERE e.kind = 'decision.record'
