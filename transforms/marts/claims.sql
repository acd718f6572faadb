-- One row is one claim: an action that the newest record of a decision says was, or was not, executed.
SELECT
    c.correlation_id,
    c.decision_id,
    c.position,
    c.action,
    c.executed,
    c.claimed_by,
    c.target,
    c.receipt_id,
    c.idempotency_key,
    c.call_id,
    c.amount,
    c.event_id AS claim_event_id,
    c.ts AS claimed_ts,
    c.run_id,
    NULLIF(c.tenant_key, '') AS tenant
FROM stg_claims AS c
