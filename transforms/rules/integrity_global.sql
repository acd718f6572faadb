-- One row is one thing about the ledger or a source that takes trust from everything that rests on it.
-- @scope all
-- @rule pii_redacted info
--   means: A service wrote personal data into its events; it was taken out before anything was kept.
--   do: Have the service send references instead; the redaction knows patterns, not people.
--   satisfied by: events without personal data.
-- @rule producer_silent medium
--   means: A source that is still open has sent nothing for longer than the policy allows, not even a heartbeat.
--   do: Check that the service and its collector run; until then, silence is no proof that nothing happened.
--   satisfied by: an event or a heartbeat of the source, or its end.
-- @rule ledger_tampered critical
--   means: Ledger and database do not agree: somebody or something changed what had been recorded.
--   do: Keep a copy of both as evidence, compare with the anchors kept elsewhere, and rebuild from a good copy.
--   satisfied by: a verification that finds nothing.
SELECT
    'pii_redacted' AS rule,
    'open' AS status,
    coalesce(e.source, 'unknown') AS subject,
    '' AS occurrence,
    CAST(NULL AS VARCHAR) AS correlation_id,
    CAST(NULL AS VARCHAR) AS run_id,
    e.tenant,
    CAST(NULL AS VARCHAR) AS caller,
    CAST(NULL AS VARCHAR) AS tool,
    CAST(NULL AS VARCHAR) AS gate,
    min(e.ts) AS event_ts,
    ARRAY[CAST(NULL AS VARCHAR)] AS evidence,
    'Personal data was taken out of ' || CAST(count(*) AS VARCHAR)
        || CASE WHEN count(*) = 1 THEN ' event of ' ELSE ' events of ' END
        || coalesce(max(e.source), 'an unknown source') || '.' AS message
FROM scope_all_events AS e
WHERE e.redacted
GROUP BY e.tenant, coalesce(e.source, 'unknown')
UNION ALL
SELECT
    'producer_silent',
    'open',
    s.source,
    '',
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    s.last_received_at,
    ARRAY[CAST(NULL AS VARCHAR)],
    'The source ' || s.source || ' is still open and has sent nothing for longer than is allowed.'
FROM scope_sources AS s
WHERE s.idle
UNION ALL
SELECT
    'ledger_tampered',
    'open',
    p.summary,
    p.problem,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    p.verified_at,
    ARRAY[CAST(NULL AS VARCHAR)],
    'Ledger and database do not agree: ' || p.summary
FROM stg_verification_problems AS p
