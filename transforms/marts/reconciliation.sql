-- One row is one claim, or one effect that no record claims, or one key that was used twice, and how the three sides agree.
-- A view, since the age of every break moves on with each event.
-- @by view
SELECT
    f.correlation_id,
    f.action,
    f.target,
    f.claimed,
    f.evidenced,
    f.status,
    f.match_key,
    f.claim_event_id,
    f.evidence_event_ids,
    f.amount_claimed,
    f.amount_evidenced,
    CAST((k.as_of_us - f.ts_us) / 1000000 AS BIGINT) AS age_seconds,
    NULLIF(f.tenant_key, '') AS tenant,
    f.run_id,
    f.subject,
    f.decision_id,
    f.position,
    f.tool,
    f.caller,
    f.event_ts,
    f.verdict
FROM fct_reconciliation AS f
CROSS JOIN clock AS k
