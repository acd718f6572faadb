-- One row is what one run adds to one KPI: its share of the numerator and denominator, and whether it carried the data at all.
SELECT "day", tenant_key, intent, priority, tier, 'containment' AS kpi,
    CASE WHEN contained THEN 1.0 ELSE 0.0 END AS numerator, 1.0 AS denominator, 1 AS eligible, 1 AS covered
FROM int_closed_runs WHERE closed
UNION ALL
SELECT "day", tenant_key, intent, priority, tier, 'verified_containment',
    CASE WHEN contained AND NOT unverified THEN 1.0 ELSE 0.0 END, 1.0, 1, 1
FROM int_closed_runs WHERE closed
UNION ALL
-- Days younger than the window cannot be judged yet: they count as eligible, not as covered.
SELECT "day", tenant_key, intent, priority, tier, 'fcr',
    CASE WHEN mature AND NOT contacted_again THEN 1.0 ELSE 0.0 END, CASE WHEN mature THEN 1.0 ELSE 0.0 END, 1,
    CASE WHEN mature THEN 1 ELSE 0 END
FROM int_closed_runs WHERE resolved
UNION ALL
SELECT "day", tenant_key, intent, priority, tier, 'sla_attainment',
    CASE WHEN sla_state = 'ok' THEN 1.0 ELSE 0.0 END, CASE WHEN sla_state IS NOT NULL THEN 1.0 ELSE 0.0 END, 1,
    CASE WHEN sla_state IS NOT NULL THEN 1 ELSE 0 END
FROM int_closed_runs WHERE closed OR sla_state IS NOT NULL
UNION ALL
SELECT "day", tenant_key, intent, priority, tier, 'escalation_precision_proxy',
    CASE WHEN escalation_triggered THEN 1.0 ELSE 0.0 END, 1.0, 1, 1
FROM int_closed_runs WHERE handed_over
UNION ALL
SELECT "day", tenant_key, intent, priority, tier, 'cost_per_resolution',
    coalesce(cost_usd, 0.0), CASE WHEN cost_usd IS NULL THEN 0.0 ELSE 1.0 END, 1,
    CASE WHEN cost_usd IS NULL THEN 0 ELSE 1 END
FROM int_closed_runs WHERE resolved
UNION ALL
SELECT "day", tenant_key, intent, priority, tier, 'csat_sentiment_proxy',
    CASE WHEN delighted THEN 1.0 ELSE 0.0 END, CASE WHEN has_outcome THEN 1.0 ELSE 0.0 END, 1,
    CASE WHEN has_outcome THEN 1 ELSE 0 END
FROM int_closed_runs WHERE closed
