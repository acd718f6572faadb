-- One row is one report on a task that somebody had leased by then, with the lease that it is judged by.
WITH known AS (
    SELECT
        r.event_id AS report_event_id,
        r.ts_us AS report_us,
        r.reported_by_name,
        r.lease_id AS named_lease_id,
        l.*,
        row_number() OVER (PARTITION BY r.event_id, l.lease_id ORDER BY l.ts_us DESC, l.event_id DESC) AS from_last,
        row_number() OVER (PARTITION BY r.event_id, l.lease_id, l.holds ORDER BY l.ts_us DESC, l.event_id DESC) AS from_last_alike
    FROM stg_reports AS r
    CROSS JOIN policy_time AS t
    INNER JOIN stg_leases AS l
        ON l.tenant_key = r.tenant_key
        AND l.correlation_id = r.correlation_id
        AND l.task_id = r.task_id
        -- A holder's clock may run ahead of the lease service's; nobody gains a lease's end by it.
        AND l.ts_us <= r.ts_us + CASE WHEN l.holds THEN t.clock_skew_us ELSE 0 END
),

-- Who holds a lease is what its last grant or renewal says; of a lease whose grant was never seen, its end.
leases AS (
    SELECT
        report_event_id, report_us, reported_by_name, named_lease_id, lease_id,
        coalesce(
            max(holder_name) FILTER (WHERE holds AND from_last_alike = 1), max(holder_name) FILTER (WHERE from_last = 1)
        ) AS holder_name,
        max(CASE WHEN from_last = 1 AND holds AND (expires_us IS NULL OR expires_us >= report_us) THEN 1 ELSE 0 END) AS good,
        max(ts_us) FILTER (WHERE holds AND from_last_alike = 1) AS held_us,
        max(event_id) FILTER (WHERE holds AND from_last_alike = 1) AS held_event_id,
        max(ts_us) FILTER (WHERE from_last = 1) AS last_us,
        max(event_id) FILTER (WHERE from_last = 1) AS last_event_id
    FROM known
    GROUP BY report_event_id, report_us, reported_by_name, named_lease_id, lease_id
),

marked AS (
    SELECT
        l.*,
        max(CASE WHEN l.lease_id = l.named_lease_id THEN 1 ELSE 0 END) OVER (PARTITION BY l.report_event_id) AS names_a_known_one
    FROM leases AS l
),

-- A lease that the report names is the one; else the reporter's best; else whoever holds the task is named.
ranked AS (
    SELECT
        m.*,
        row_number() OVER (
            PARTITION BY m.report_event_id
            ORDER BY
                CASE WHEN m.names_a_known_one = 1 AND m.lease_id = m.named_lease_id THEN 0 ELSE 1 END,
                CASE WHEN m.holder_name = m.reported_by_name THEN 0 ELSE 1 END,
                m.good DESC,
                coalesce(m.held_us, m.last_us) DESC,
                coalesce(m.held_event_id, m.last_event_id) DESC
        ) AS choice
    FROM marked AS m
),

taken_over AS (
    SELECT
        o.report_event_id,
        k.event_id,
        k.holder_name,
        row_number() OVER (PARTITION BY o.report_event_id ORDER BY k.ts_us, k.event_id) AS nth
    FROM ranked AS o
    INNER JOIN known AS k ON k.report_event_id = o.report_event_id
    WHERE
        o.choice = 1
        AND o.good = 1
        AND k.state = 'granted'
        AND k.lease_id <> o.lease_id
        AND k.holder_name <> o.reported_by_name
        AND (k.ts_us > o.held_us OR (k.ts_us = o.held_us AND k.event_id > o.held_event_id))
        AND (k.ts_us < k.report_us OR (k.ts_us = k.report_us AND k.event_id < k.report_event_id))
)

SELECT
    o.report_event_id,
    CASE
        WHEN o.holder_name <> o.reported_by_name THEN 'foreign_report'
        WHEN o.good = 0 THEN 'lease_expired_report'
        WHEN x.event_id IS NOT NULL THEN 'foreign_report'
        ELSE 'held'
    END AS verdict,
    coalesce(x.holder_name, o.holder_name) AS holder_name,
    o.held_event_id,
    o.last_event_id,
    x.event_id AS taken_over_event_id
FROM ranked AS o
LEFT JOIN taken_over AS x ON x.report_event_id = o.report_event_id AND x.nth = 1
WHERE o.choice = 1
