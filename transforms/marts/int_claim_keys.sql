-- One row is one key under which one claim looks for its effect; the passes go from the surest key to the loosest:
-- 1 receipt id, 2 idempotency key, 3 call id, 4 correlation id + action + target, 5 the same where the effect names no
-- target, 6 where the claim names none.
SELECT event_id, position, 1 AS pass, tenant_key, receipt_id AS k1, '' AS k2, '' AS k3, executed, ts_us
FROM stg_claims
WHERE receipt_id IS NOT NULL
UNION ALL
SELECT event_id, position, 2, tenant_key, idempotency_key, '', '', executed, ts_us
FROM stg_claims
WHERE idempotency_key IS NOT NULL
UNION ALL
SELECT event_id, position, 3, tenant_key, call_id, '', '', executed, ts_us
FROM stg_claims
WHERE call_id IS NOT NULL
UNION ALL
SELECT event_id, position, 4, tenant_key, correlation_id, action_group, target, executed, ts_us
FROM stg_claims
WHERE target IS NOT NULL
UNION ALL
SELECT event_id, position, 5, tenant_key, correlation_id, action_group, '', executed, ts_us
FROM stg_claims
WHERE target IS NOT NULL
UNION ALL
SELECT event_id, position, 6, tenant_key, correlation_id, action_group, '', executed, ts_us
FROM stg_claims
WHERE target IS NULL
