-- One row is one subject of one pipeline: what was shipped (or attempted, reported, proposed) and had to pass its gates.
WITH applies AS (
    SELECT s.event_id, m.pipeline
    FROM stg_subjects AS s
    INNER JOIN policy_matchers AS m
        ON m.part = 'applies_to'
        AND m."value" = CASE m.field
            WHEN 'kind' THEN s.kind
            WHEN 'tenant' THEN s.tenant
            WHEN 'source' THEN s.source
            WHEN 'caller' THEN s.caller_name
            WHEN 'tool' THEN s.tool
            WHEN 'privilege' THEN s.privilege
            WHEN 'side_effects' THEN s.side_effects
            WHEN 'outcome' THEN s.outcome
            WHEN 'operation' THEN s.operation
            WHEN 'layer' THEN s.layer
            WHEN 'error_class' THEN s.error_class
            WHEN 'target' THEN s.target
            WHEN 'currency' THEN s.currency
            WHEN 'model' THEN s.model
            WHEN 'model_tier' THEN s.model_tier_name
            WHEN 'verified' THEN s.verified
            WHEN 'phase' THEN s.phase
            WHEN 'channel' THEN s.channel
            WHEN 'customer_facing' THEN s.customer_facing
            WHEN 'by' THEN s.by_name
            WHEN 'author' THEN s.author_name
            WHEN 'action' THEN s.action_name
            WHEN 'actor' THEN s.actor_name
            WHEN 'claim' THEN s.claim
        END
    INNER JOIN policy_pipelines AS p ON p.pipeline = m.pipeline
    GROUP BY s.event_id, m.pipeline, p.applies_to_fields
    HAVING count(DISTINCT m.field) = p.applies_to_fields
),

conditions AS (
    -- One record or ticket event has to say all of it.
    SELECT DISTINCT a.tenant_key, a.correlation_id, m.pipeline
    FROM stg_run_attributes AS a
    INNER JOIN policy_matchers AS m ON m.part = 'when' AND m.field = a.field AND m."value" = a."value"
    INNER JOIN policy_pipelines AS p ON p.pipeline = m.pipeline
    GROUP BY a.event_id, a.tenant_key, a.correlation_id, m.pipeline, p.when_fields
    HAVING count(DISTINCT m.field) = p.when_fields
),

numbered AS (
    SELECT
        p.pipeline,
        p.separate_author,
        p.binding,
        p.grace_us,
        s.kind,
        s.event_id,
        s.ts,
        s.ts_us,
        s.tenant_key,
        s.correlation_id,
        s.run_id,
        s.subject,
        s.digest,
        s.caller,
        s.tool,
        coalesce(s.author_name, s.by_name, s.actor_name, s.caller_name) AS author_name,
        row_number() OVER (
            PARTITION BY p.pipeline, s.tenant_key, s.correlation_id, s.kind, s.subject
            ORDER BY s.attempt, s.ts_us, s.event_id
        ) AS nth
    FROM applies AS a
    INNER JOIN stg_subjects AS s ON s.event_id = a.event_id
    INNER JOIN policy_pipelines AS p ON p.pipeline = a.pipeline
    LEFT JOIN conditions AS c
        ON c.pipeline = p.pipeline AND c.tenant_key = s.tenant_key AND c.correlation_id = s.correlation_id
    WHERE p.when_fields = 0 OR c.pipeline IS NOT NULL
)

-- A call is guarded once, at the first attempt that the pipeline speaks of; a retry is not a second shipment.
SELECT
    pipeline,
    separate_author,
    binding,
    grace_us,
    event_id,
    ts,
    ts_us,
    tenant_key,
    correlation_id,
    run_id,
    subject,
    digest,
    caller,
    tool,
    author_name,
    lag(ts_us) OVER earlier AS previous_ts_us,
    lag(event_id) OVER earlier AS previous_event_id
FROM numbered
WHERE kind <> 'tool.invocation' OR nth = 1
WINDOW earlier AS (PARTITION BY pipeline, tenant_key, correlation_id, subject ORDER BY ts_us, event_id)
