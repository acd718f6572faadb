-- One row is one claim with the one effect that it speaks of, and the pass (see int_claim_keys) that brought them together.
-- Within one key true claims come first, then earliest goes with earliest: "tried, failed, tried again" against one
-- effect is one match, not two breaks.
WITH
claims_1 AS (
    SELECT k.*, row_number() OVER (
        PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.executed DESC, k.ts_us, k.event_id, k.position) AS nth
    FROM int_claim_keys AS k
    WHERE k.pass = 1),
effects_1 AS (
    SELECT k.*, row_number() OVER (PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.ts_us, k.effect_id) AS nth
    FROM int_effect_keys AS k
    WHERE k.pass = 1),
found_1 AS (
    SELECT c.event_id, c.position, e.effect_id, c.pass
    FROM claims_1 AS c INNER JOIN effects_1 AS e USING (tenant_key, k1, k2, k3, nth)),

claims_2 AS (
    SELECT k.*, row_number() OVER (
        PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.executed DESC, k.ts_us, k.event_id, k.position) AS nth
    FROM int_claim_keys AS k
    LEFT JOIN found_1 AS f ON f.event_id = k.event_id AND f.position = k.position
    WHERE k.pass = 2 AND f.event_id IS NULL),
effects_2 AS (
    SELECT k.*, row_number() OVER (PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.ts_us, k.effect_id) AS nth
    FROM int_effect_keys AS k
    LEFT JOIN found_1 AS f ON f.effect_id = k.effect_id
    WHERE k.pass = 2 AND f.effect_id IS NULL),
found_2 AS (
    SELECT event_id, position, effect_id, pass FROM found_1 UNION ALL
    SELECT c.event_id, c.position, e.effect_id, c.pass
    FROM claims_2 AS c INNER JOIN effects_2 AS e USING (tenant_key, k1, k2, k3, nth)),

claims_3 AS (
    SELECT k.*, row_number() OVER (
        PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.executed DESC, k.ts_us, k.event_id, k.position) AS nth
    FROM int_claim_keys AS k
    LEFT JOIN found_2 AS f ON f.event_id = k.event_id AND f.position = k.position
    WHERE k.pass = 3 AND f.event_id IS NULL),
effects_3 AS (
    SELECT k.*, row_number() OVER (PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.ts_us, k.effect_id) AS nth
    FROM int_effect_keys AS k
    LEFT JOIN found_2 AS f ON f.effect_id = k.effect_id
    WHERE k.pass = 3 AND f.effect_id IS NULL),
found_3 AS (
    SELECT event_id, position, effect_id, pass FROM found_2 UNION ALL
    SELECT c.event_id, c.position, e.effect_id, c.pass
    FROM claims_3 AS c INNER JOIN effects_3 AS e USING (tenant_key, k1, k2, k3, nth)),

claims_4 AS (
    SELECT k.*, row_number() OVER (
        PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.executed DESC, k.ts_us, k.event_id, k.position) AS nth
    FROM int_claim_keys AS k
    LEFT JOIN found_3 AS f ON f.event_id = k.event_id AND f.position = k.position
    WHERE k.pass = 4 AND f.event_id IS NULL),
effects_4 AS (
    SELECT k.*, row_number() OVER (PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.ts_us, k.effect_id) AS nth
    FROM int_effect_keys AS k
    LEFT JOIN found_3 AS f ON f.effect_id = k.effect_id
    WHERE k.pass = 4 AND f.effect_id IS NULL),
found_4 AS (
    SELECT event_id, position, effect_id, pass FROM found_3 UNION ALL
    SELECT c.event_id, c.position, e.effect_id, c.pass
    FROM claims_4 AS c INNER JOIN effects_4 AS e USING (tenant_key, k1, k2, k3, nth)),

claims_5 AS (
    SELECT k.*, row_number() OVER (
        PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.executed DESC, k.ts_us, k.event_id, k.position) AS nth
    FROM int_claim_keys AS k
    LEFT JOIN found_4 AS f ON f.event_id = k.event_id AND f.position = k.position
    WHERE k.pass = 5 AND f.event_id IS NULL),
effects_5 AS (
    SELECT k.*, row_number() OVER (PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.ts_us, k.effect_id) AS nth
    FROM int_effect_keys AS k
    LEFT JOIN found_4 AS f ON f.effect_id = k.effect_id
    WHERE k.pass = 5 AND f.effect_id IS NULL),
found_5 AS (
    SELECT event_id, position, effect_id, pass FROM found_4 UNION ALL
    SELECT c.event_id, c.position, e.effect_id, c.pass
    FROM claims_5 AS c INNER JOIN effects_5 AS e USING (tenant_key, k1, k2, k3, nth)),

claims_6 AS (
    SELECT k.*, row_number() OVER (
        PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.executed DESC, k.ts_us, k.event_id, k.position) AS nth
    FROM int_claim_keys AS k
    LEFT JOIN found_5 AS f ON f.event_id = k.event_id AND f.position = k.position
    WHERE k.pass = 6 AND f.event_id IS NULL),
effects_6 AS (
    SELECT k.*, row_number() OVER (PARTITION BY k.tenant_key, k.k1, k.k2, k.k3 ORDER BY k.ts_us, k.effect_id) AS nth
    FROM int_effect_keys AS k
    LEFT JOIN found_5 AS f ON f.effect_id = k.effect_id
    WHERE k.pass = 6 AND f.effect_id IS NULL),
found_6 AS (
    SELECT event_id, position, effect_id, pass FROM found_5 UNION ALL
    SELECT c.event_id, c.position, e.effect_id, c.pass
    FROM claims_6 AS c INNER JOIN effects_6 AS e USING (tenant_key, k1, k2, k3, nth))

SELECT event_id, position, effect_id, pass FROM found_6
