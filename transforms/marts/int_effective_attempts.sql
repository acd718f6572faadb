-- One row is one mutating attempt that says it took effect; attempts that carry one receipt id are one.
WITH ranked AS (
    SELECT
        a.*,
        row_number() OVER (
            PARTITION BY a.tenant_key, coalesce(a.receipt_id, a.event_id), a.receipt_id IS NULL
            ORDER BY a.ts_us, a.event_id
        ) AS nth,
        max(CASE WHEN a.outcome = 'success' THEN 1 ELSE 0 END) OVER (
            PARTITION BY a.tenant_key, coalesce(a.receipt_id, a.event_id), a.receipt_id IS NULL
        ) AS succeeded,
        max(CASE WHEN a.verified THEN 1 ELSE 0 END) OVER (
            PARTITION BY a.tenant_key, coalesce(a.receipt_id, a.event_id), a.receipt_id IS NULL
        ) AS checked
    FROM stg_attempts AS a
    WHERE a.mutating AND a.outcome IN ('success', 'partial')
)

SELECT
    tenant_key,
    event_id,
    ts,
    ts_us,
    correlation_id,
    run_id,
    call_id,
    caller,
    tool,
    action_group,
    side_effects,
    succeeded = 1 AS complete,
    checked = 1 AS verified,
    input_digest,
    idempotency_key,
    approval_id,
    receipt_id,
    target,
    amount
FROM ranked
WHERE nth = 1
