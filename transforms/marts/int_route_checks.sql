-- One row is one route decision: how many tools it granted, what they may do, and what was denied to it afterwards.
WITH granted AS (
    SELECT
        g.event_id,
        count(DISTINCT g.tool) AS tools,
        max(CASE WHEN p.privilege IN ('write', 'execute') THEN 1 ELSE 0 END) AS writing,
        max(CASE WHEN p.privilege = 'execute' THEN 1 ELSE 0 END) AS executing
    FROM stg_granted_tools AS g
    LEFT JOIN policy_tools AS p ON p.tool = g.tool
    GROUP BY g.event_id
),

-- The last attempt decides a call: what was denied first and allowed on a second try was not withheld.
denied AS (
    SELECT r.event_id, c.event_id AS denied_event_id
    FROM stg_routes AS r
    INNER JOIN int_attempt_steps AS a
        ON a.tenant_key = r.tenant_key
        AND a.correlation_id = r.correlation_id
        AND a.ts_us >= r.ts_us
        AND a.privilege IN ('write', 'execute')
    INNER JOIN int_attempt_steps AS c
        ON c.tenant_key = a.tenant_key
        AND c.correlation_id = a.correlation_id
        AND c.call_id = a.call_id
        AND c.from_last = 1
        AND c.outcome = 'denied'
    WHERE r.needed_privilege IN ('write', 'execute')
),

evidence AS (
    SELECT event_id, denied_event_id FROM denied
    UNION
    SELECT event_id, event_id FROM stg_routes
),

listed AS (
    SELECT event_id, count(*) - 1 AS denials, list_sort(array_agg(denied_event_id)) AS event_ids
    FROM evidence
    GROUP BY event_id
),

judged AS (
    SELECT
        r.*,
        coalesce(g.tools, 0) AS tools,
        coalesce(g.writing, 0) AS writing,
        coalesce(g.executing, 0) AS executing,
        l.denials,
        l.event_ids
    FROM stg_routes AS r
    LEFT JOIN granted AS g ON g.event_id = r.event_id
    INNER JOIN listed AS l ON l.event_id = r.event_id
)

SELECT
    j.event_id,
    j.ts,
    j.tenant_key,
    j.correlation_id,
    j.run_id,
    j.task_family,
    j.needed_privilege,
    j.tools,
    j.event_ids,
    coalesce(j.needed_privilege = 'read' AND j.writing = 1, FALSE) AS more_than_read,
    j.unknown_family AND j.tools > p.unknown_tools AS many_for_unknown,
    CASE
        WHEN j.needed_privilege = 'write' THEN j.writing = 0
        WHEN j.needed_privilege = 'execute' THEN j.executing = 0
        ELSE FALSE
    END AS withheld,
    j.denials > 0 AS refused
FROM judged AS j
CROSS JOIN policy_routing AS p
