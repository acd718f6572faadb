-- One row is what one run adds to one KPI: its share of the numerator and denominator, and whether it carried the data at all.
SELECT "day", tenant_key, correlation_id, intent, priority, tier, 'containment' AS kpi,
    CASE WHEN contained THEN 1.0 ELSE 0.0 END AS numerator, 1.0 AS denominator, 1 AS eligible, 1 AS covered,
    CAST(NULL AS BIGINT) AS from_us
FROM int_closed_runs WHERE closed
UNION ALL
SELECT "day", tenant_key, correlation_id, intent, priority, tier, 'verified_containment',
    CASE WHEN contained AND NOT unverified THEN 1.0 ELSE 0.0 END, 1.0, 1, 1, NULL
FROM int_closed_runs WHERE closed
UNION ALL
-- Days younger than the window cannot be judged yet: until `from_us` they count as eligible, not as covered.
SELECT "day", tenant_key, correlation_id, intent, priority, tier, 'fcr',
    CASE WHEN contacted_again THEN 0.0 ELSE 1.0 END, 1.0, 1, 1, mature_us
FROM int_closed_runs WHERE resolved
UNION ALL
SELECT "day", tenant_key, correlation_id, intent, priority, tier, 'sla_attainment',
    CASE WHEN sla_state = 'ok' THEN 1.0 ELSE 0.0 END, CASE WHEN sla_state IS NOT NULL THEN 1.0 ELSE 0.0 END, 1,
    CASE WHEN sla_state IS NOT NULL THEN 1 ELSE 0 END, NULL
FROM int_closed_runs WHERE closed OR sla_state IS NOT NULL
UNION ALL
SELECT "day", tenant_key, correlation_id, intent, priority, tier, 'escalation_precision_proxy',
    CASE WHEN escalation_triggered THEN 1.0 ELSE 0.0 END, 1.0, 1, 1, NULL
FROM int_closed_runs WHERE handed_over
UNION ALL
SELECT "day", tenant_key, correlation_id, intent, priority, tier, 'cost_per_resolution',
    coalesce(cost_usd, 0.0), CASE WHEN cost_usd IS NULL THEN 0.0 ELSE 1.0 END, 1,
    CASE WHEN cost_usd IS NULL THEN 0 ELSE 1 END, NULL
FROM int_closed_runs WHERE resolved
UNION ALL
SELECT "day", tenant_key, correlation_id, intent, priority, tier, 'csat_sentiment_proxy',
    CASE WHEN delighted THEN 1.0 ELSE 0.0 END, CASE WHEN has_outcome THEN 1.0 ELSE 0.0 END, 1,
    CASE WHEN has_outcome THEN 1 ELSE 0 END, NULL
FROM int_closed_runs WHERE closed
