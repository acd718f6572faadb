-- One row is one time that a gate should have stopped something: held (it did), or dropped (it shipped all the same).
SELECT d.tenant_key, d.correlation_id, d.gate, d.ts, 1 AS held
FROM stg_gate_decisions AS d
LEFT JOIN gate_checks AS c ON c.decision_event_id = d.event_id AND c.status IN ('gate_blocked_shipped', 'gate_errored_open')
WHERE d.decision IN ('blocked', 'errored') AND c.decision_event_id IS NULL
UNION ALL
SELECT coalesce(c.tenant, ''), c.correlation_id, c.gate, c.shipped_ts, 0
FROM gate_checks AS c
WHERE c.silent OR c.status = 'gate_blocked_shipped'
