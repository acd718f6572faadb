-- One row is one dispatch, supersession or piece of human feedback, with the few fields that rules read.
SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.run_id,
    e.kind,
    e.command,
    e.agent,
    e.caller,
    e.policy,
    e.reason,
    e.signal,
    e."value"
FROM scope_events AS e
WHERE e.kind IN ('agent.dispatch', 'safety.supersession', 'human.feedback')
