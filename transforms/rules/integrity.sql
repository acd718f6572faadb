-- One row is one event whose identity or time does not deserve the trust that the other events do.
-- @rule event_conflict high
--   means: The id of this event was used a second time for something else: a mistake in the producer, or a forgery.
--   do: Compare both lines (the second is in quarantine) and find out which service sent each of them.
--   satisfied by: an id of its own for each event.
-- @rule backdated low
--   means: The event says that it happened before other events of its source that had arrived long before it.
--   do: Ask why it came so late; treat what it proves with care if nothing explains it.
--   satisfied by: events that arrive within the allowed lateness of their source.
SELECT
    'event_conflict' AS rule,
    'open' AS status,
    c.event_id AS subject,
    '' AS occurrence,
    c.correlation_id,
    c.run_id,
    NULLIF(c.tenant_key, '') AS tenant,
    c.caller,
    c.tool,
    CAST(NULL AS VARCHAR) AS gate,
    c.ts AS event_ts,
    ARRAY[c.event_id] AS evidence,
    CASE
        WHEN c.rejected = 1 THEN 'The event id ' || c.event_id || ' was used again for another content.'
        ELSE 'The event id ' || c.event_id || ' was used again for other contents, '
            || CAST(c.rejected AS VARCHAR) || ' times.'
    END AS message
FROM stg_conflicts AS c
UNION ALL
SELECT
    'backdated',
    'open',
    a.event_id,
    '',
    a.correlation_id,
    a.run_id,
    NULLIF(a.tenant_key, ''),
    a.caller,
    a.tool,
    NULL,
    a.ts,
    ARRAY[a.event_id],
    'The event ' || a.event_id || ' arrived after events of its source that are much later.'
FROM stg_late_arrivals AS a
