-- One row is one claim and the verdict on it.
-- Amounts are binary floats: a millionth is below any currency's unit and above what adding them up may lose.
SELECT
    c.*,
    m.pass,
    e.effect_id,
    e.attempt_event_id,
    e.receipt_event_id,
    e.amount AS amount_evidenced,
    e.complete,
    e.tool,
    e.caller,
    u.attempt_event_id AS unanswered_event_id,
    CASE
        WHEN k.event_id IS NOT NULL THEN 'conflicting_claims'
        WHEN c.executed AND e.effect_id IS NULL THEN 'phantom_execution'
        WHEN c.executed AND e.complete AND e.receipt_event_id IS NULL
            AND t.receipt = 'required' THEN 'unreceipted_execution'
        WHEN c.executed AND NOT e.complete AND NOT e.verified THEN 'partial_as_executed'
        WHEN c.executed AND abs(c.amount - e.amount) > p.amount_tolerance + 0.000001 THEN 'amount_break'
        WHEN c.executed THEN 'matched'
        WHEN e.effect_id IS NOT NULL THEN 'hidden_execution'
        WHEN u.event_id IS NOT NULL THEN 'unverifiable'
        ELSE 'matched'
    END AS verdict
FROM stg_claims AS c
CROSS JOIN policy_approvals AS p
LEFT JOIN int_claim_matches AS m ON m.event_id = c.event_id AND m.position = c.position
LEFT JOIN int_effects AS e ON e.effect_id = m.effect_id
LEFT JOIN policy_tools AS t ON t.tool = e.tool
LEFT JOIN int_claim_conflicts AS k ON k.event_id = c.event_id AND k.position = c.position
LEFT JOIN (
    SELECT event_id, position, min(attempt_event_id) AS attempt_event_id FROM int_unanswered GROUP BY event_id, position
) AS u ON u.event_id = c.event_id AND u.position = c.position
