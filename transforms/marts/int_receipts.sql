-- One row is one receipt: what the system of record says last under one receipt id, or one `exists`, which is a slip of its
-- own: it says of one more try that nothing new happened, and often carries the receipt id of the first.
WITH ranked AS (
    SELECT
        r.*,
        r.effect = 'exists' AS slip,
        max(CASE WHEN r.effect = 'exists' THEN 0 ELSE 1 END) OVER of_id AS stated,
        max(CASE WHEN r.effect IN ('committed', 'partial') THEN 1 ELSE 0 END) OVER of_id AS took_effect,
        max(r.idempotency_key) OVER of_id AS known_idempotency_key,
        max(r.call_id) OVER of_id AS known_call_id,
        max(r.proposal_id) OVER of_id AS known_proposal_id,
        row_number() OVER (
            PARTITION BY r.tenant_key, r.receipt_id, r.effect = 'exists' ORDER BY r.ts_us DESC, r.event_id DESC
        ) AS from_last,
        row_number() OVER (
            PARTITION BY r.tenant_key, r.receipt_id, r.effect = 'exists' ORDER BY r.ts_us, r.event_id
        ) AS nth
    FROM stg_receipts AS r
    WINDOW of_id AS (PARTITION BY r.tenant_key, r.receipt_id)
)

SELECT
    tenant_key,
    -- A slip goes by its receipt id only where nothing else does.
    CASE WHEN NOT slip OR (stated = 0 AND nth = 1) THEN receipt_id END AS receipt_id,
    event_id,
    ts,
    ts_us,
    correlation_id,
    run_id,
    action,
    action_group,
    effect,
    effect IN ('rolled_back', 'rejected') AS cancels,
    took_effect = 1 AS took_effect,
    target,
    coalesce(idempotency_key, known_idempotency_key) AS idempotency_key,
    coalesce(call_id, known_call_id) AS call_id,
    coalesce(proposal_id, known_proposal_id) AS proposal_id,
    amount
FROM ranked
WHERE slip OR from_last = 1
