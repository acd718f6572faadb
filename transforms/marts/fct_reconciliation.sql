-- One row is one claim, or one effect that no record claims, or one key that was used twice, and how the three sides agree.
WITH recorded AS (
    SELECT DISTINCT tenant_key, correlation_id
    FROM stg_records
),

breaks AS (
    SELECT
        c.tenant_key, c.correlation_id, c.run_id, c.action, c.target, c.executed AS claimed,
        c.effect_id IS NOT NULL AS evidenced, c.verdict,
        CASE
            WHEN c.pass = 1 THEN 'receipt_id' WHEN c.pass = 2 THEN 'idempotency_key' WHEN c.pass = 3 THEN 'call_id'
            WHEN c.pass IS NOT NULL THEN 'action'
        END AS match_key,
        c.event_id AS claim_event_id,
        ARRAY[c.attempt_event_id, c.receipt_event_id, CASE WHEN c.verdict = 'unverifiable' THEN c.unanswered_event_id END]
            AS evidence_event_ids,
        c.amount AS amount_claimed, c.amount_evidenced, c.ts, c.ts_us,
        c.decision_id || '#' || CAST(c.position AS VARCHAR) AS subject,
        c.decision_id, c.position, c.tool, c.caller
    FROM int_judged_claims AS c
    UNION ALL
    SELECT
        e.tenant_key, e.correlation_id, e.run_id, e.action, e.target, NULL, TRUE, 'unclaimed_execution', NULL,
        NULL, ARRAY[e.attempt_event_id, e.receipt_event_id], NULL, e.amount, e.ts,
        e.ts_us, e.effect_id, NULL, NULL, e.tool, e.caller
    FROM int_effects AS e
    INNER JOIN recorded AS r ON r.tenant_key = e.tenant_key AND r.correlation_id = e.correlation_id
    LEFT JOIN int_claim_matches AS m ON m.effect_id = e.effect_id
    WHERE m.effect_id IS NULL AND NOT e.duplicate
    UNION ALL
    SELECT
        e.tenant_key, e.correlation_id, e.run_id, e.action, e.target, NULL, TRUE, 'duplicate_execution',
        'idempotency_key', NULL, ARRAY[e.attempt_event_id, e.receipt_event_id], NULL, e.amount, e.ts, e.ts_us,
        e.effect_id, NULL, NULL, e.tool, e.caller
    FROM int_effects AS e
    WHERE e.duplicate
    UNION ALL
    SELECT
        k.tenant_key, k.correlation_id, NULL, NULL, k.target, NULL, NULL, 'key_conflict', 'idempotency_key', NULL,
        k.event_ids, NULL, NULL, k.ts, k.last_us, k.idempotency_key, NULL, NULL, NULL, NULL
    FROM int_key_conflicts AS k
)

SELECT
    b.correlation_id,
    b.action,
    b.target,
    b.claimed,
    b.evidenced,
    CASE WHEN k.watermark_us <= b.ts_us + t.grace_us THEN 'pending' ELSE b.verdict END
        AS status,
    b.match_key,
    b.claim_event_id,
    b.evidence_event_ids,
    b.amount_claimed,
    b.amount_evidenced,
    b.ts_us,
    b.tenant_key,
    b.run_id,
    b.subject,
    b.decision_id,
    b.position,
    b.tool,
    b.caller,
    b.ts AS event_ts,
    b.verdict
FROM breaks AS b
CROSS JOIN scope_clock AS k
CROSS JOIN policy_time AS t
