-- One row is one event by which a run does something: a tool's attempt, a dispatch, a shipment or a proposal.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.kind,
    e.caller,
    e.tool
FROM scope_events AS e
WHERE e.kind IN ('tool.invocation', 'agent.dispatch', 'artifact.shipment', 'action.proposal')
