-- One row is one run that cost more than it may, ended in no way or in two, or went on after its end.
-- @rule budget_exceeded medium
--   means: The run started more agents, or one of its agents tried again more often, than its command may.
--   do: See what it was going round in circles about; raise the budget only if the work was worth it.
--   satisfied by: at most as many dispatches and retries as the command's budget allows.
-- @rule judge_cycles_exceeded medium
--   means: The work went back and forth between author and judge more often than allowed.
--   do: Hand such work to a person; check whether the judge asks for something that nobody can give.
--   satisfied by: a decision within the allowed number of cycles, or a hand-over.
-- @rule terminal_state_missing medium
--   means: Agents were started and the run was never closed: nobody can say what became of the request.
--   do: Find out whether the customer got an answer, and close the run by hand.
--   satisfied by: a decision record, or a resolved or escalated ticket file.
-- @rule terminal_state_conflict high
--   means: Two records of one run say that it ended differently.
--   do: Find out which one is right, and correct or withdraw the other.
--   satisfied by: records that agree, a record that follows up the earlier one, or a reopening between them.
-- @rule activity_after_terminal medium
--   means: The run had been closed, nobody reopened it, and it went on working.
--   do: Check what was done after the record had been written; the record does not tell of it.
--   satisfied by: no further activity, or feedback that reopens the run first.
-- @rule model_tier_mismatch low
--   means: An agent ran on another model tier than it should: too dear, or too weak for its work.
--   do: Correct the agent's configuration, or the tier in the policy.
--   satisfied by: the model tier that the policy expects of the agent.
WITH budgets AS (
    SELECT
        rule, tenant_key, correlation_id, occurrence,
        list_sort(array_agg(event_id)) AS event_ids,
        max(reached) AS reached
    FROM int_budget_breaks
    GROUP BY rule, tenant_key, correlation_id, occurrence
),

late AS (
    SELECT tenant_key, correlation_id, list_sort(array_agg(event_id)) AS event_ids, count(*) AS n
    FROM int_late_activity
    GROUP BY tenant_key, correlation_id
),

tiers AS (
    SELECT
        m.*,
        row_number() OVER (
            PARTITION BY m.tenant_key, m.correlation_id, m.agent, m.model_tier ORDER BY m.ts_us, m.event_id
        ) AS nth
    FROM stg_model_tiers AS m
    WHERE m.model_tier <> m.expected_tier
),

tier_events AS (
    SELECT tenant_key, correlation_id, agent, model_tier, list_sort(array_agg(event_id)) AS event_ids
    FROM tiers
    GROUP BY tenant_key, correlation_id, agent, model_tier
)

SELECT
    b.rule, 'open' AS status, b.correlation_id AS subject, b.occurrence, b.correlation_id, l.run_id,
    NULLIF(b.tenant_key, '') AS tenant, b.caller, CAST(NULL AS VARCHAR) AS tool, CAST(NULL AS VARCHAR) AS gate,
    b.ts AS event_ts, g.event_ids AS evidence,
    b.counted || ': ' || CAST(g.reached AS VARCHAR) || '; allowed: ' || CAST(b.ceiling AS VARCHAR) || '.' AS message
FROM int_budget_breaks AS b
INNER JOIN budgets AS g
    ON g.rule = b.rule
    AND g.tenant_key = b.tenant_key
    AND g.correlation_id = b.correlation_id
    AND g.occurrence = b.occurrence
INNER JOIN int_run_limits AS l ON l.tenant_key = b.tenant_key AND l.correlation_id = b.correlation_id
WHERE b.nth = 1
UNION ALL
SELECT
    'terminal_state_missing', CASE WHEN k.watermark_us <= u.last_us + t.run_timeout_us THEN 'pending' ELSE 'open' END,
    u.correlation_id, '', u.correlation_id, u.run_id, NULLIF(u.tenant_key, ''), u.caller, NULL, NULL, u.ts,
    ARRAY[u.event_id, u.last_event_id], 'Agents were started for ' || u.correlation_id || ' and nothing says how it ended.'
FROM int_unclosed_runs AS u
CROSS JOIN scope_clock AS k
CROSS JOIN policy_time AS t
UNION ALL
SELECT
    'terminal_state_conflict', 'open', c.decision_id, '', c.correlation_id, c.run_id, NULLIF(c.tenant_key, ''), NULL, NULL,
    NULL, c.ts, ARRAY[c.earlier_event_id, c.event_id],
    c.decision_id || ' ends in ' || c.terminal_state || ', ' || c.earlier_decision_id || ' in ' || c.earlier_state || '.'
FROM int_terminal_conflicts AS c
UNION ALL
SELECT
    'activity_after_terminal', 'open', a.correlation_id, '', a.correlation_id, a.run_id, NULLIF(a.tenant_key, ''), a.caller,
    a.tool, NULL, a.ts, array_append(l.event_ids, a.record_event_id),
    'The run went on after its record had been written; further steps: ' || CAST(l.n AS VARCHAR) || '.'
FROM int_late_activity AS a
INNER JOIN late AS l ON l.tenant_key = a.tenant_key AND l.correlation_id = a.correlation_id
WHERE a.nth = 1
UNION ALL
SELECT
    'model_tier_mismatch', 'open', m.agent, m.model_tier, m.correlation_id, m.run_id, NULLIF(m.tenant_key, ''), m.agent,
    NULL, NULL, m.ts, e.event_ids, m.agent || ' ran on the tier ' || m.model_tier || ' instead of ' || m.expected_tier || '.'
FROM tiers AS m
INNER JOIN tier_events AS e
    ON e.tenant_key = m.tenant_key
    AND e.correlation_id = m.correlation_id
    AND e.agent = m.agent
    AND e.model_tier = m.model_tier
WHERE m.nth = 1
