-- One row is one claim that may speak of an attempt which ended without an answer, where no receipt can tell what happened.
WITH open_attempts AS (
    SELECT a.*
    FROM stg_attempts AS a
    LEFT JOIN policy_tools AS t ON t.tool = a.tool
    WHERE
        a.mutating
        AND (a.outcome = 'unavailable' OR (a.outcome = 'failed' AND a.error_class = 'transient'))
        AND coalesce(t.receipt, 'optional') <> 'required'
        AND NOT EXISTS (
            SELECT 1 FROM stg_receipts AS r
            WHERE r.tenant_key = a.tenant_key AND r.idempotency_key = a.idempotency_key
        )
        AND NOT EXISTS (
            SELECT 1 FROM stg_receipts AS r
            WHERE r.tenant_key = a.tenant_key AND r.call_id = a.call_id
        )
        AND NOT EXISTS (
            SELECT 1 FROM stg_receipts AS r
            WHERE r.tenant_key = a.tenant_key AND r.receipt_id = a.receipt_id
        )
),

-- A receipt under one of the claim's own keys can tell as well.
untold AS (
    SELECT c.*
    FROM stg_claims AS c
    WHERE
        NOT c.executed
        AND NOT EXISTS (
            SELECT 1 FROM stg_receipts AS r
            WHERE r.tenant_key = c.tenant_key AND r.idempotency_key = c.idempotency_key
        )
        AND NOT EXISTS (
            SELECT 1 FROM stg_receipts AS r
            WHERE r.tenant_key = c.tenant_key AND r.call_id = c.call_id
        )
        AND NOT EXISTS (
            SELECT 1 FROM stg_receipts AS r
            WHERE r.tenant_key = c.tenant_key AND r.receipt_id = c.receipt_id
        )
)

SELECT c.event_id, c.position, a.event_id AS attempt_event_id
FROM untold AS c
INNER JOIN open_attempts AS a ON a.tenant_key = c.tenant_key AND a.receipt_id = c.receipt_id
UNION
SELECT c.event_id, c.position, a.event_id
FROM untold AS c
INNER JOIN open_attempts AS a ON a.tenant_key = c.tenant_key AND a.idempotency_key = c.idempotency_key
UNION
SELECT c.event_id, c.position, a.event_id
FROM untold AS c
INNER JOIN open_attempts AS a ON a.tenant_key = c.tenant_key AND a.call_id = c.call_id
UNION
SELECT c.event_id, c.position, a.event_id
FROM untold AS c
INNER JOIN open_attempts AS a
    ON a.tenant_key = c.tenant_key
    AND a.correlation_id = c.correlation_id
    AND a.action_group = c.action_group
    AND (a.target = c.target OR a.target IS NULL OR c.target IS NULL)
