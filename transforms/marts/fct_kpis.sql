-- One row is what one run, score, answer, route or gate adds to one KPI of one UTC day; `handling_time` carries minutes.
-- Numerators are decimals: sums of binary floats would depend on the order in which they are added. A number that no
-- ledger of the world holds (over a quadrillion) counts as a quadrillion, so that one producer's slip stops nobody.
WITH facts AS (
    SELECT "day", tenant_key, correlation_id, intent, priority, tier, kpi, numerator, denominator, eligible, covered, from_us
    FROM int_kpi_run_facts
    UNION ALL
    SELECT "day", tenant_key, correlation_id, intent, priority, tier, kpi, numerator, denominator, eligible, covered, NULL
    FROM int_kpi_event_facts
)

SELECT
    "day", tenant_key, correlation_id, intent, priority, tier, CAST(NULL AS VARCHAR) AS gate, kpi,
    CAST(least(greatest(numerator, -1e15), 1e15) AS DECIMAL(28, 9)) AS numerator, CAST(denominator AS BIGINT) AS denominator,
    CAST(eligible AS BIGINT) AS eligible, CAST(covered AS BIGINT) AS covered, from_us,
    CAST(NULL AS DOUBLE) AS minutes
FROM facts
UNION ALL
SELECT coalesce(r."day", CAST(date_trunc('day', g.ts) AS DATE)), g.tenant_key, g.correlation_id, r.intent, r.priority, r.tier,
    g.gate, 'gate_reliability', g.held, 1, 1, 1, NULL, NULL
FROM int_gate_outcomes AS g
LEFT JOIN int_closed_runs AS r ON r.tenant_key = g.tenant_key AND r.correlation_id = g.correlation_id AND r.newest
UNION ALL
SELECT "day", tenant_key, correlation_id, intent, priority, tier, NULL, 'handling_time', NULL, NULL, NULL, NULL, NULL,
    handling_minutes
FROM int_closed_runs
WHERE closed
