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
-- @rule source_gap high
--   means: Part of a source could not be read any more, and whoever runs Gatewatch had it go on behind the gap.
--   do: Fetch what is missing from where it was kept longer and ingest it; lengthen the source's retention.
--   satisfied by: nothing; what was missed once stays missed, though its events may still come from elsewhere.
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
-- Who sent a rejected line is not known: it is told of where it was read.
SELECT
    'pii_redacted',
    'open',
    q.source,
    'rejected',
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    min(q.received_at),
    ARRAY[CAST(NULL AS VARCHAR)],
    'Personal data was taken out of ' || CAST(count(*) AS VARCHAR)
        || CASE WHEN count(*) = 1 THEN ' rejected line of ' ELSE ' rejected lines of ' END || q.source || '.'
FROM quarantine AS q
WHERE q.redacted
GROUP BY q.source
UNION ALL
SELECT
    'producer_silent',
    'open',
    s.feed,
    '',
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    max(s.last_received_at),
    ARRAY[CAST(NULL AS VARCHAR)],
    'The source ' || s.feed || ' is still open and has sent nothing for longer than is allowed.'
FROM scope_sources AS s
WHERE NOT s.complete
GROUP BY s.feed
HAVING count(*) = count(*) FILTER (WHERE s.idle)
UNION ALL
SELECT
    'source_gap',
    'open',
    g.source,
    g.from_position || ' to ' || g.to_position,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    min(g.received_at),
    ARRAY[CAST(NULL AS VARCHAR)],
    'The source ' || g.source || ' was not read from ' || g.from_position || ' to ' || g.to_position || ': '
        || min(g.why)
FROM gaps AS g
GROUP BY g.source, g.from_position, g.to_position
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
