-- One row is one receipt with the attempt that it belongs to: by receipt id, else idempotency key, else call id.
-- Within one key the earliest goes with the earliest. A rejection or rollback takes an attempt only when no receipt
-- that stands is left for it, so that a refused first try does not cancel the second try that went through.
WITH by_receipt AS (
    SELECT a.event_id AS attempt_event_id, r.event_id AS receipt_event_id
    FROM int_effective_attempts AS a
    INNER JOIN int_receipts AS r ON r.tenant_key = a.tenant_key AND r.receipt_id = a.receipt_id
),

attempts_by_key AS (
    SELECT
        a.*,
        row_number() OVER (PARTITION BY a.tenant_key, a.idempotency_key ORDER BY a.ts_us, a.event_id) AS nth
    FROM int_effective_attempts AS a
    LEFT JOIN by_receipt AS p ON p.attempt_event_id = a.event_id
    WHERE p.attempt_event_id IS NULL AND a.idempotency_key IS NOT NULL
),

receipts_by_key AS (
    SELECT
        r.*,
        row_number() OVER (
            PARTITION BY r.tenant_key, r.idempotency_key ORDER BY r.cancels, r.ts_us, r.event_id
        ) AS nth
    FROM int_receipts AS r
    LEFT JOIN by_receipt AS p ON p.receipt_event_id = r.event_id
    WHERE p.receipt_event_id IS NULL AND r.idempotency_key IS NOT NULL
),

by_key AS (
    SELECT attempt_event_id, receipt_event_id FROM by_receipt
    UNION ALL
    SELECT a.event_id, r.event_id
    FROM attempts_by_key AS a
    INNER JOIN receipts_by_key AS r
        ON r.tenant_key = a.tenant_key AND r.idempotency_key = a.idempotency_key AND r.nth = a.nth
),

attempts_by_call AS (
    SELECT
        a.*,
        row_number() OVER (PARTITION BY a.tenant_key, a.call_id ORDER BY a.ts_us, a.event_id) AS nth
    FROM int_effective_attempts AS a
    LEFT JOIN by_key AS p ON p.attempt_event_id = a.event_id
    WHERE p.attempt_event_id IS NULL
),

receipts_by_call AS (
    SELECT
        r.*,
        row_number() OVER (
            PARTITION BY r.tenant_key, r.call_id ORDER BY r.cancels, r.ts_us, r.event_id
        ) AS nth
    FROM int_receipts AS r
    LEFT JOIN by_key AS p ON p.receipt_event_id = r.event_id
    WHERE p.receipt_event_id IS NULL AND r.call_id IS NOT NULL
)

SELECT attempt_event_id, receipt_event_id FROM by_key
UNION ALL
SELECT a.event_id, r.event_id
FROM attempts_by_call AS a
INNER JOIN receipts_by_call AS r ON r.tenant_key = a.tenant_key AND r.call_id = a.call_id AND r.nth = a.nth
