-- One row is one time that a gate should have stopped something: held (it did), or dropped (it shipped all the same).
SELECT d.tenant_key, d.correlation_id, d.gate, d.ts, 1 AS held
FROM stg_gate_decisions AS d
WHERE
    d.decision IN ('blocked', 'errored')
    AND NOT EXISTS (
        SELECT 1 FROM gate_checks AS c
        WHERE c.decision_event_id = d.event_id AND c.status IN ('gate_blocked_shipped', 'gate_errored_open')
    )
    -- What had already left undecided was not held back by a decision that came after it.
    AND NOT EXISTS (
        SELECT 1 FROM gate_checks AS c
        WHERE
            coalesce(c.tenant, '') = d.tenant_key
            AND c.correlation_id = d.correlation_id
            AND c.subject = d.subject
            AND c.gate = d.gate
            AND c.shipped_ts < d.ts
            AND (c.verdict IN ('gate_missing', 'gate_late') OR c.decision_event_id IS NULL)
    )
UNION ALL
SELECT coalesce(c.tenant, ''), c.correlation_id, c.gate, c.shipped_ts, 0
FROM gate_checks AS c
WHERE c.silent OR c.status = 'gate_blocked_shipped'
