-- One row is one effect: something that really changed, by a receipt, an attempt, or both together.
WITH units AS (
    SELECT
        coalesce(r.event_id, a.event_id) AS effect_id,
        coalesce(a.tenant_key, r.tenant_key) AS tenant_key,
        coalesce(a.correlation_id, r.correlation_id) AS correlation_id,
        coalesce(a.run_id, r.run_id) AS run_id,
        coalesce(a.ts, r.ts) AS ts,
        coalesce(a.ts_us, r.ts_us) AS ts_us,
        a.event_id AS attempt_event_id,
        r.event_id AS receipt_event_id,
        a.caller,
        a.tool,
        coalesce(a.tool, r.action) AS action,
        coalesce(a.action_group, r.action_group) AS action_group,
        a.side_effects,
        CASE WHEN r.event_id IS NULL THEN a.complete ELSE r.effect = 'committed' END AS complete,
        coalesce(a.verified, FALSE) AS verified,
        coalesce(r.receipt_id, a.receipt_id) AS receipt_id,
        coalesce(r.idempotency_key, a.idempotency_key) AS idempotency_key,
        coalesce(r.call_id, a.call_id) AS call_id,
        coalesce(r.target, a.target) AS target,
        coalesce(r.amount, a.amount) AS amount,
        a.input_digest,
        a.approval_id,
        r.proposal_id
    FROM int_effective_attempts AS a
    LEFT JOIN int_receipt_pairs AS p ON p.attempt_event_id = a.event_id
    FULL JOIN int_receipts AS r ON r.event_id = p.receipt_event_id
    WHERE r.event_id IS NULL OR r.effect IN ('committed', 'partial')
),

refused AS (
    -- Tries that took no effect: a rejection belongs to one of them before it belongs to an effect.
    SELECT tenant_key, idempotency_key AS match_key, FALSE AS by_call, count(*) AS n
    FROM stg_attempts
    WHERE mutating AND outcome NOT IN ('success', 'partial') AND idempotency_key IS NOT NULL
    GROUP BY tenant_key, idempotency_key
    UNION ALL
    SELECT tenant_key, call_id, TRUE, count(*)
    FROM stg_attempts
    WHERE mutating AND outcome NOT IN ('success', 'partial')
    GROUP BY tenant_key, call_id
),

lone AS (
    -- A rollback or rejection under a receipt id of its own, which no attempt took.
    SELECT
        r.*,
        coalesce(r.idempotency_key, r.call_id) AS match_key,
        r.idempotency_key IS NULL AS by_call,
        row_number() OVER (
            PARTITION BY r.tenant_key, r.effect, coalesce(r.idempotency_key, r.call_id), r.idempotency_key IS NULL
            ORDER BY r.ts_us, r.event_id
        ) AS nth_alike
    FROM int_receipts AS r
    LEFT JOIN int_receipt_pairs AS p ON p.receipt_event_id = r.event_id
    WHERE
        r.cancels
        AND NOT r.took_effect
        AND p.receipt_event_id IS NULL
        AND coalesce(r.idempotency_key, r.call_id) IS NOT NULL
),

reversals AS (
    SELECT
        l.*,
        row_number() OVER (PARTITION BY l.tenant_key, l.match_key, l.by_call ORDER BY l.ts_us, l.event_id) AS nth
    FROM lone AS l
    LEFT JOIN refused AS f ON f.tenant_key = l.tenant_key AND f.match_key = l.match_key AND f.by_call = l.by_call
    WHERE l.effect = 'rolled_back' OR l.nth_alike > coalesce(f.n, 0)
),

by_key AS (
    SELECT
        u.*,
        row_number() OVER (PARTITION BY u.tenant_key, u.idempotency_key ORDER BY u.ts_us, u.effect_id) AS nth_of_key,
        row_number() OVER (PARTITION BY u.tenant_key, u.call_id ORDER BY u.ts_us, u.effect_id) AS nth_of_call
    FROM units AS u
),

undone AS (
    SELECT u.effect_id
    FROM by_key AS u
    INNER JOIN reversals AS r
        ON r.tenant_key = u.tenant_key
        AND r.idempotency_key = u.idempotency_key
        AND r.nth = u.nth_of_key
        AND r.ts_us >= u.ts_us
    UNION
    SELECT u.effect_id
    FROM by_key AS u
    INNER JOIN reversals AS r
        ON r.tenant_key = u.tenant_key
        AND r.idempotency_key IS NULL
        AND r.call_id = u.call_id
        AND r.nth = u.nth_of_call
        AND r.ts_us >= u.ts_us
)

SELECT
    u.*,
    row_number() OVER (PARTITION BY u.tenant_key, u.idempotency_key ORDER BY u.ts_us, u.effect_id) > 1
    AND u.idempotency_key IS NOT NULL AS duplicate
FROM units AS u
LEFT JOIN undone AS x ON x.effect_id = u.effect_id
WHERE x.effect_id IS NULL
