-- One row is one thing that a run did after it had been closed, though nobody had reopened it.
WITH closed AS (
    SELECT
        tenant_key,
        correlation_id,
        max(first_us) AS closed_us,
        count(*) = count(run_id) AS all_named
    FROM stg_records
    GROUP BY tenant_key, correlation_id
)

SELECT
    a.*,
    n.event_id AS record_event_id,
    row_number() OVER (PARTITION BY a.tenant_key, a.correlation_id ORDER BY a.ts_us, a.event_id) AS nth
FROM stg_activities AS a
INNER JOIN closed AS c ON c.tenant_key = a.tenant_key AND c.correlation_id = a.correlation_id
INNER JOIN stg_last_records AS n ON n.tenant_key = a.tenant_key AND n.correlation_id = a.correlation_id
CROSS JOIN policy_time AS t
WHERE
    a.ts_us > c.closed_us + t.clock_skew_us
    -- Where every record names its run, another run of the same ticket is no matter of theirs.
    AND (
        a.run_id IS NULL
        OR NOT c.all_named
        OR EXISTS (
            SELECT 1 FROM stg_records AS r
            WHERE r.tenant_key = a.tenant_key AND r.correlation_id = a.correlation_id AND r.run_id = a.run_id
        )
    )
    AND NOT EXISTS (
        SELECT 1 FROM stg_reopenings AS f
        WHERE
            f.tenant_key = a.tenant_key
            AND f.correlation_id = a.correlation_id
            AND f.ts_us BETWEEN c.closed_us AND a.ts_us
    )
