-- One row is one key under which one effect can be claimed; the passes are those of int_claim_keys.
SELECT effect_id, 1 AS pass, tenant_key, receipt_id AS k1, '' AS k2, '' AS k3, ts_us
FROM int_effects
WHERE receipt_id IS NOT NULL
UNION ALL
SELECT effect_id, 2, tenant_key, idempotency_key, '', '', ts_us
FROM int_effects
WHERE idempotency_key IS NOT NULL
UNION ALL
SELECT effect_id, 3, tenant_key, call_id, '', '', ts_us
FROM int_effects
WHERE call_id IS NOT NULL
UNION ALL
SELECT effect_id, 4, tenant_key, correlation_id, action_group, target, ts_us
FROM int_effects
WHERE target IS NOT NULL
UNION ALL
SELECT effect_id, 5, tenant_key, correlation_id, action_group, '', ts_us
FROM int_effects
WHERE target IS NULL
UNION ALL
SELECT effect_id, 6, tenant_key, correlation_id, action_group, '', ts_us
FROM int_effects
