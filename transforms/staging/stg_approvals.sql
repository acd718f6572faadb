-- One row is one answer to a proposed action; what the answer leaves out is taken from the proposal that it answers.
WITH proposals AS (
    SELECT e.*
    FROM scope_events AS e
    WHERE e.kind = 'action.proposal'
    QUALIFY row_number() OVER (PARTITION BY e.tenant, e.proposal_id ORDER BY e.ts, e.event_id) = 1
)

SELECT
    e.event_id,
    e.ts,
    epoch_us(e.ts) AS ts_us,
    coalesce(e.tenant, '') AS tenant_key,
    e.correlation_id,
    e.approval_id,
    e.proposal_id,
    e.decision,
    e.by AS decided_by,
    e.by_kind,
    coalesce(e.action, p.action) AS action,
    coalesce(g.action_group, lower(coalesce(e.action, p.action))) AS action_group,
    coalesce(e.target, p.target) AS target,
    coalesce(e.digest, p.digest) AS digest,
    coalesce(e.amount_limit, p.amount) AS amount_limit,
    e.single_use,
    epoch_us(e.expires_at) AS expires_us
FROM scope_events AS e
LEFT JOIN proposals AS p
    ON p.proposal_id = e.proposal_id AND coalesce(p.tenant, '') = coalesce(e.tenant, '')
LEFT JOIN policy_actions AS g ON g.name = lower(coalesce(e.action, p.action))
WHERE e.kind = 'action.decision'
