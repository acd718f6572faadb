-- One row is one receipt from a system of record.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.receipt_id,
    e.action,
    coalesce(g.action_group, lower(e.action)) AS action_group,
    e.effect,
    e.target,
    e.idempotency_key,
    e.call_id,
    e.proposal_id,
    e.amount
FROM scope_events AS e
LEFT JOIN policy_actions AS g ON g.name = lower(e.action)
WHERE e.kind = 'action.receipt'
