-- One row is one effect that needs an approval, with the approval that it relied on and what that was worth.
WITH needing AS (
    SELECT e.effect_id
    FROM int_effects AS e
    INNER JOIN policy_approval_scope AS s ON s.part = 'side_effects' AND s."value" = e.side_effects
    WHERE NOT e.duplicate
    UNION
    -- The contract's word counts too: an irreversible tool called as reversible is not let off.
    SELECT e.effect_id
    FROM int_effects AS e
    INNER JOIN policy_actions AS a ON a.action_group = e.action_group
    INNER JOIN policy_tools AS t ON t.tool = a.name AND (e.tool IS NULL OR e.tool = t.tool)
    INNER JOIN policy_approval_scope AS s ON s.part = 'side_effects' AND s."value" = t.side_effects
    WHERE NOT e.duplicate
    UNION
    SELECT e.effect_id
    FROM int_effects AS e
    INNER JOIN policy_approval_scope AS s ON s.part = 'action_group' AND s."value" = e.action_group
    WHERE NOT e.duplicate
),

answers AS (
    SELECT e.effect_id, d.event_id, d.ts_us
    FROM int_effects AS e
    INNER JOIN stg_approvals AS d ON d.tenant_key = e.tenant_key AND d.approval_id = e.approval_id
    UNION ALL
    SELECT e.effect_id, d.event_id, d.ts_us
    FROM int_effects AS e
    INNER JOIN stg_approvals AS d ON d.tenant_key = e.tenant_key AND d.proposal_id = e.proposal_id
    WHERE e.approval_id IS NULL
    UNION ALL
    SELECT e.effect_id, d.event_id, d.ts_us
    FROM int_effects AS e
    INNER JOIN stg_approvals AS d
        ON d.tenant_key = e.tenant_key
        AND d.correlation_id = e.correlation_id
        AND d.action_group = e.action_group
        AND (d.target = e.target OR d.target IS NULL OR e.target IS NULL)
    WHERE e.approval_id IS NULL AND e.proposal_id IS NULL
),

relied AS (
    SELECT
        a.effect_id,
        a.event_id,
        d.decision,
        d.approval_id,
        row_number() OVER (PARTITION BY a.effect_id ORDER BY a.ts_us DESC, a.event_id DESC) AS from_last
    FROM answers AS a
    INNER JOIN int_effects AS e ON e.effect_id = a.effect_id
    INNER JOIN stg_approvals AS d ON d.event_id = a.event_id
    CROSS JOIN policy_time AS t
    WHERE a.ts_us <= e.ts_us + t.clock_skew_us
),

granted AS (
    -- Two approvals for two alike actions are one each, even where neither action names its own.
    SELECT effect_id, count(DISTINCT approval_id) AS n
    FROM relied
    WHERE decision = 'approved'
    GROUP BY effect_id
),

judged AS (
    SELECT
        e.*,
        d.event_id AS decision_event_id,
        d.approval_id AS relied_approval_id,
        d.decided_by,
        d.by_kind,
        d.amount_limit,
        d.single_use,
        coalesce(g.n, 0) AS granted,
        CASE
            WHEN d.event_id IS NULL THEN 'approval_missing'
            WHEN d.decision = 'declined' THEN 'approval_declined_executed'
            WHEN d.decision <> 'approved' THEN 'approval_expired'
            WHEN coalesce(d.expires_us, d.ts_us + p.expires_after_us) < e.ts_us THEN 'approval_expired'
            WHEN k."value" IS NULL THEN 'approval_not_human'
            WHEN d.action_group <> e.action_group OR d.target <> e.target THEN 'approval_mismatch'
            WHEN coalesce(e.amount, 0) > d.amount_limit + p.amount_tolerance + 0.000001 THEN 'approval_exceeded'
            WHEN d.digest <> e.input_digest THEN 'confirmation_stale'
            ELSE 'approved'
        END AS status
    FROM int_effects AS e
    INNER JOIN needing AS n ON n.effect_id = e.effect_id
    CROSS JOIN policy_approvals AS p
    LEFT JOIN relied AS r ON r.effect_id = e.effect_id AND r.from_last = 1
    LEFT JOIN stg_approvals AS d ON d.event_id = r.event_id
    LEFT JOIN granted AS g ON g.effect_id = e.effect_id
    LEFT JOIN policy_approval_scope AS k ON k.part = 'by_kind' AND k."value" = d.by_kind
),

used AS (
    SELECT
        j.*,
        row_number() OVER (
            PARTITION BY j.tenant_key, j.relied_approval_id ORDER BY j.ts_us, j.effect_id
        ) AS nth_use
    FROM judged AS j
)

SELECT
    u.effect_id, u.tenant_key, u.correlation_id, u.run_id, u.ts, u.ts_us, u.caller, u.tool, u.action, u.target, u.amount,
    u.attempt_event_id, u.receipt_event_id, u.decision_event_id, u.relied_approval_id, u.decided_by, u.amount_limit,
    CASE WHEN u.status = 'approved' AND u.single_use AND u.nth_use > u.granted THEN 'approval_reused' ELSE u.status END AS status
FROM used AS u
