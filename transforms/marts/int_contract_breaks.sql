-- One row is one attempt that breaks one rule about its tool's contract, with what it said and what the contract says.
WITH checked AS (
    SELECT
        a.*,
        t.privilege AS contract_privilege,
        t.side_effects AS contract_effects,
        t.tool IS NULL AND d.tools > 0 AS undeclared,
        c.tool IS NOT NULL AND w.tool IS NULL AS stranger,
        a.privilege <> t.privilege AS other_privilege,
        CASE a.side_effects WHEN 'none' THEN 0 WHEN 'reversible' THEN 1 WHEN 'irreversible' THEN 2 END
            < CASE t.side_effects WHEN 'none' THEN 0 WHEN 'reversible' THEN 1 WHEN 'irreversible' THEN 2 END AS understated,
        a.side_effects = 'reversible' AND a.outcome IN ('success', 'partial') AND a.undo IS NULL AS no_undo,
        a.mutating AND a.input_digest IS NULL AS no_digest,
        a.error_type IS NOT NULL AND l.tool IS NOT NULL AND k.tool IS NULL AS other_error
    FROM stg_attempts AS a
    CROSS JOIN (SELECT count(*) AS tools FROM policy_tools) AS d
    LEFT JOIN policy_tools AS t ON t.tool = a.tool
    LEFT JOIN (SELECT DISTINCT tool FROM stg_contract_callers) AS c ON c.tool = a.tool
    LEFT JOIN stg_contract_callers AS w ON w.tool = a.tool AND w.caller_name = a.caller_name
    LEFT JOIN (SELECT DISTINCT tool FROM stg_contract_errors) AS l ON l.tool = a.tool
    LEFT JOIN stg_contract_errors AS k ON k.tool = a.tool AND k.error_type = a.error_type
),

suspects AS (
    SELECT a.*
    FROM stg_attempts AS a
    WHERE
        a.error_class = 'tool_instructions'
        AND EXISTS (
            SELECT 1 FROM stg_records AS r
            WHERE r.tenant_key = a.tenant_key AND r.correlation_id = a.correlation_id
        )
),

named AS (
    SELECT DISTINCT f.event_id, f.ref, s.event_id AS attempt_event_id
    FROM stg_injection_findings AS f
    INNER JOIN suspects AS s
        ON s.tenant_key = f.tenant_key
        AND s.correlation_id = f.correlation_id
        AND (f.ref = s.call_id OR f.ref = s.event_id OR f.ref_tool = s.tool)
),

-- A finding that names none of the run's suspicious attempts speaks of all of them.
general AS (
    SELECT DISTINCT f.tenant_key, f.correlation_id
    FROM stg_injection_findings AS f
    LEFT JOIN named AS n ON n.event_id = f.event_id AND n.ref = f.ref
    WHERE n.event_id IS NULL
),

breaks AS (
    SELECT 'tool_undeclared' AS rule, event_id, NULL AS said, NULL AS agreed FROM checked WHERE undeclared
    UNION ALL
    SELECT 'caller_not_allowed', event_id, caller_name, NULL FROM checked WHERE stranger
    UNION ALL
    SELECT 'privilege_mismatch', event_id, privilege, contract_privilege FROM checked WHERE other_privilege
    UNION ALL
    SELECT 'side_effects_understated', event_id, side_effects, contract_effects FROM checked WHERE understated
    UNION ALL
    SELECT 'undo_missing', event_id, NULL, NULL FROM checked WHERE no_undo
    UNION ALL
    SELECT 'digest_missing', event_id, NULL, NULL FROM checked WHERE no_digest
    UNION ALL
    SELECT 'error_undeclared', event_id, error_type, NULL FROM checked WHERE other_error
    UNION ALL
    SELECT 'injection_unflagged', s.event_id, NULL, NULL
    FROM suspects AS s
    LEFT JOIN named AS n ON n.attempt_event_id = s.event_id
    LEFT JOIN general AS g ON g.tenant_key = s.tenant_key AND g.correlation_id = s.correlation_id
    WHERE n.event_id IS NULL AND g.correlation_id IS NULL
)

SELECT
    b.rule,
    b.said,
    b.agreed,
    a.event_id,
    a.tenant_key,
    a.correlation_id,
    a.run_id,
    a.call_id,
    a.caller,
    a.tool,
    a.ts,
    row_number() OVER (
        PARTITION BY b.rule, a.tenant_key, a.correlation_id, a.call_id ORDER BY a.ts_us, a.event_id
    ) AS nth
FROM breaks AS b
INNER JOIN stg_attempts AS a ON a.event_id = b.event_id
