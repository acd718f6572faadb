-- One row is one caller, by canonical name, that the contract of a tool allows; a tool without rows allows everybody.
SELECT DISTINCT
    t.tool,
    coalesce(n.agent, u.caller) AS caller_name
FROM policy_tools AS t
CROSS JOIN unnest(t.allowed_callers) AS u (caller)
LEFT JOIN policy_agents AS n ON n.alias = u.caller
