-- One row is one route decision that gave a request more tools than it needed, or fewer.
-- @rule over_scoped medium
--   means: A request got tools that can change things and needed only to read, or nobody knew what it was and it got many.
--   do: Narrow what the router grants to this task family; check what the tools were used for.
--   satisfied by: tools that only read where reading was enough, and few tools for an unknown request.
-- @rule under_scoped medium
--   means: A request had to change something, and no tool for it was granted or the call was denied.
--   do: Widen what the router grants to this task family, and see what became of the request.
--   satisfied by: a granted tool with the privilege that was needed, and no denial of its calls.
SELECT
    'over_scoped' AS rule,
    'open' AS status,
    c.event_id AS subject,
    '' AS occurrence,
    c.correlation_id,
    c.run_id,
    NULLIF(c.tenant_key, '') AS tenant,
    CAST(NULL AS VARCHAR) AS caller,
    CAST(NULL AS VARCHAR) AS tool,
    CAST(NULL AS VARCHAR) AS gate,
    c.ts AS event_ts,
    ARRAY[c.event_id] AS evidence,
    CASE
        WHEN c.more_than_read THEN 'A request routed as ' || c.task_family
            || ' needed only to read and got tools that can change things.'
        ELSE 'Nobody knew what a request was (' || c.task_family || '), and it got ' || CAST(c.tools AS VARCHAR) || ' tools.'
    END AS message
FROM int_route_checks AS c
WHERE c.more_than_read OR c.many_for_unknown
UNION ALL
SELECT
    'under_scoped',
    'open',
    c.event_id,
    '',
    c.correlation_id,
    c.run_id,
    NULLIF(c.tenant_key, ''),
    NULL,
    NULL,
    NULL,
    c.ts,
    c.event_ids,
    CASE
        WHEN c.withheld THEN 'A request routed as ' || c.task_family || ' needed ' || c.needed_privilege
            || ' and got no tool that can do it.'
        ELSE 'A request routed as ' || c.task_family || ' needed ' || c.needed_privilege || ' and was denied it.'
    END
FROM int_route_checks AS c
WHERE c.withheld OR c.refused
