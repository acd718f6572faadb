-- One row is one idempotency key that was used for different inputs.
WITH used AS (
    SELECT tenant_key, idempotency_key, event_id, ts, ts_us, correlation_id, input_digest, target, amount, 1 AS side
    FROM stg_attempts
    WHERE mutating AND idempotency_key IS NOT NULL
    UNION ALL
    -- Receipts are only held against receipts: a system of record may name targets in its own way.
    SELECT tenant_key, idempotency_key, event_id, ts, ts_us, correlation_id, NULL, target, amount, 2
    FROM int_receipts
    WHERE effect = 'committed' AND idempotency_key IS NOT NULL
),

conflicts AS (
    SELECT tenant_key, idempotency_key
    FROM used
    GROUP BY tenant_key, idempotency_key, side
    HAVING count(DISTINCT input_digest) > 1 OR count(DISTINCT target) > 1 OR count(DISTINCT amount) > 1
),

ranked AS (
    SELECT
        u.*,
        row_number() OVER (PARTITION BY u.tenant_key, u.idempotency_key ORDER BY u.ts_us, u.event_id) AS nth
    FROM used AS u
    INNER JOIN (SELECT DISTINCT tenant_key, idempotency_key FROM conflicts) AS c
        ON c.tenant_key = u.tenant_key AND c.idempotency_key = u.idempotency_key
)

SELECT
    tenant_key,
    idempotency_key,
    max(correlation_id) FILTER (WHERE nth = 1) AS correlation_id,
    max(target) FILTER (WHERE nth = 1) AS target,
    min(ts) AS ts,
    max(ts_us) AS last_us,
    list_sort(array_agg(event_id)) AS event_ids
FROM ranked
GROUP BY tenant_key, idempotency_key
