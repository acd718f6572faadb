-- One row is one error type that the contract of a tool declares; a tool without rows declares none and may end in any.
SELECT DISTINCT
    t.tool,
    u.error_type
FROM policy_tools AS t
CROSS JOIN unnest(t.error_types) AS u (error_type)
