-- One row is one event that takes a run over a ceiling of its budget, with the count that it reaches and the ceiling.
WITH dispatched AS (
    SELECT
        e.event_id, e.ts, e.ts_us, e.tenant_key, e.correlation_id, e.command,
        row_number() OVER (
            PARTITION BY e.tenant_key, e.correlation_id, e.command ORDER BY e.ts_us, e.event_id
        ) AS reached
    FROM stg_simple_events AS e
    WHERE e.kind = 'agent.dispatch'
),

seen AS (
    SELECT
        e.*,
        CASE WHEN b.command IS NOT NULL THEN b.dispatches ELSE d.dispatches END AS ceiling
    FROM dispatched AS e
    LEFT JOIN policy_budgets AS b ON b.command = e.command
    LEFT JOIN policy_budgets AS d ON d.command = 'default'
),

stated AS (
    SELECT
        r.event_id, r.ts, r.ts_us, r.tenant_key, r.correlation_id, r.dispatch_count,
        row_number() OVER (
            PARTITION BY r.tenant_key, r.correlation_id ORDER BY r.dispatch_count DESC, r.ts_us, r.event_id
        ) AS nth
    FROM stg_records AS r
    WHERE r.dispatch_count IS NOT NULL
),

retried AS (
    SELECT
        s.event_id, s.ts, s.ts_us, s.tenant_key, s.correlation_id, s.caller_name,
        row_number() OVER (
            PARTITION BY s.tenant_key, s.correlation_id, s.caller_name ORDER BY s.ts_us, s.event_id
        ) AS reached
    FROM int_attempt_steps AS s
    WHERE s.nth > 1
),

judged AS (
    SELECT event_id, ts, ts_us, tenant_key, correlation_id, judge_cycles AS reached FROM stg_records
    UNION ALL
    SELECT event_id, ts, ts_us, tenant_key, correlation_id, cycle FROM stg_gate_decisions
),

breaks AS (
    SELECT
        'budget_exceeded' AS rule, 'dispatches:' || command AS occurrence, NULL AS caller,
        'Agents started by the command ' || command AS counted, reached, ceiling,
        event_id, ts, ts_us, tenant_key, correlation_id
    FROM seen
    WHERE reached > ceiling
    UNION ALL
    -- What the record counts speaks only where the events themselves do not show it already.
    SELECT
        'budget_exceeded', 'dispatches:', NULL, 'Agents started, as the record counts them', s.dispatch_count, l.dispatches,
        s.event_id, s.ts, s.ts_us, s.tenant_key, s.correlation_id
    FROM stated AS s
    INNER JOIN int_run_limits AS l ON l.tenant_key = s.tenant_key AND l.correlation_id = s.correlation_id
    WHERE
        s.nth = 1
        AND s.dispatch_count > l.dispatches
        AND NOT EXISTS (
            SELECT 1 FROM seen AS e
            WHERE e.tenant_key = s.tenant_key AND e.correlation_id = s.correlation_id AND e.reached > e.ceiling
        )
    UNION ALL
    SELECT
        'budget_exceeded', 'retries:' || r.caller_name, r.caller_name,
        'Retries of ' || r.caller_name || ' in one run', r.reached, l.retries_per_caller,
        r.event_id, r.ts, r.ts_us, r.tenant_key, r.correlation_id
    FROM retried AS r
    INNER JOIN int_run_limits AS l ON l.tenant_key = r.tenant_key AND l.correlation_id = r.correlation_id
    WHERE r.reached > l.retries_per_caller
    UNION ALL
    SELECT
        'judge_cycles_exceeded', '', NULL, 'Rounds with the judge', j.reached, l.judge_cycles,
        j.event_id, j.ts, j.ts_us, j.tenant_key, j.correlation_id
    FROM judged AS j
    INNER JOIN int_run_limits AS l ON l.tenant_key = j.tenant_key AND l.correlation_id = j.correlation_id
    WHERE j.reached > l.judge_cycles
)

SELECT
    b.*,
    row_number() OVER (
        PARTITION BY b.rule, b.tenant_key, b.correlation_id, b.occurrence ORDER BY b.ts_us, b.event_id
    ) AS nth
FROM breaks AS b
