-- One row is one attempt of a tool call, with the defaults of the contract filled in.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    coalesce(e.call_id, e.event_id) AS call_id,
    e.attempt,
    e.caller,
    coalesce(n.agent, e.caller) AS caller_name,
    e.tool,
    coalesce(g.action_group, e.tool) AS action_group,
    e.privilege,
    e.side_effects,
    e.side_effects <> 'none' AS mutating,
    e.outcome,
    CASE
        WHEN e.error_class IS NOT NULL THEN e.error_class
        WHEN e.outcome = 'success' THEN NULL
        WHEN e.outcome = 'unavailable' THEN 'transient'
        WHEN e.outcome = 'denied' THEN 'permission_denied'
        WHEN e.outcome = 'partial' THEN 'partial_success'
        ELSE 'other'
    END AS error_class,
    e.error_type,
    e.layer,
    e.input_digest,
    e.idempotency_key,
    e.approval_id,
    e.receipt_id,
    e.target,
    e.amount,
    e.undo,
    e.duration_ms,
    e.cost_usd,
    e.model_tier,
    coalesce(e.verified, FALSE) AS verified
FROM scope_events AS e
LEFT JOIN policy_agents AS n ON n.alias = e.caller
LEFT JOIN policy_actions AS g ON g.name = e.tool
WHERE e.kind = 'tool.invocation'
