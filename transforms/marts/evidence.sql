-- One row is one effect: something that really changed, shown by a receipt, an attempt, or both together.
SELECT
    e.effect_id,
    e.correlation_id,
    e.action,
    e.tool,
    e.caller,
    e.target,
    e.ts AS effect_ts,
    e.attempt_event_id,
    e.receipt_event_id,
    e.complete,
    e.verified,
    e.duplicate,
    e.receipt_id,
    e.idempotency_key,
    e.call_id,
    e.amount,
    e.approval_id,
    e.run_id,
    NULLIF(e.tenant_key, '') AS tenant
FROM int_effects AS e
