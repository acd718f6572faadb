-- One row is one run, closed or open, with how many findings are open on its correlation id.
WITH opened AS (
    SELECT coalesce(tenant, '') AS tenant_key, correlation_id, count(*) AS n
    FROM findings
    -- Whether an event is backdated depends on how it arrived; a run is what its events say.
    WHERE status = 'open' AND rule <> 'backdated'
    GROUP BY coalesce(tenant, ''), correlation_id
)

SELECT
    r.correlation_id,
    r.run_id,
    NULLIF(r.tenant_key, '') AS tenant,
    r.decision_id,
    r.intent,
    r.priority,
    r.terminal_state,
    r.received_at,
    r.first_response_at,
    r.terminal_at,
    r.dispatches,
    r.judge_cycles,
    r.rubric_score,
    r.cost_usd,
    r.model_tier,
    coalesce(o.n, 0) AS findings_open,
    r.first_ts,
    r.escalated,
    r.sla_state,
    r.record_event_id
FROM int_runs AS r
LEFT JOIN opened AS o ON o.tenant_key = r.tenant_key AND o.correlation_id = r.correlation_id
