-- One row is one run that started agents and that neither a record nor a ticket file closed, with its last event.
WITH started AS (
    SELECT
        e.event_id, e.ts, e.ts_us, e.tenant_key, e.correlation_id, e.run_id, e.caller,
        row_number() OVER (PARTITION BY e.tenant_key, e.correlation_id ORDER BY e.ts_us, e.event_id) AS nth
    FROM stg_simple_events AS e
    WHERE e.kind = 'agent.dispatch'
)

SELECT
    s.event_id,
    s.ts,
    s.tenant_key,
    s.correlation_id,
    s.run_id,
    s.caller,
    l.event_id AS last_event_id,
    l.ts_us AS last_us
FROM started AS s
INNER JOIN stg_last_events AS l ON l.tenant_key = s.tenant_key AND l.correlation_id = s.correlation_id
WHERE
    s.nth = 1
    AND NOT EXISTS (
        SELECT 1 FROM stg_records AS r
        WHERE r.tenant_key = s.tenant_key AND r.correlation_id = s.correlation_id
    )
    AND NOT EXISTS (
        SELECT 1 FROM stg_ticket_events AS t
        WHERE
            t.kind IN ('xenia.ticket_resolved', 'xenia.escalated')
            AND t.tenant_key = s.tenant_key
            AND t.correlation_id = s.correlation_id
    )
