-- One row is one claim that another decision's record contradicts: the same key, the other flag.
WITH contested AS (
    SELECT tenant_key, pass, k1
    FROM int_claim_keys AS k
    INNER JOIN stg_records AS r USING (event_id, tenant_key)
    WHERE k.pass <= 3
    GROUP BY tenant_key, pass, k1
    HAVING count(DISTINCT r.decision_id) > 1 AND min(CASE WHEN k.executed THEN 1 ELSE 0 END) < max(CASE WHEN k.executed THEN 1 ELSE 0 END)
)

SELECT DISTINCT k.event_id, k.position
FROM int_claim_keys AS k
INNER JOIN contested AS c ON c.tenant_key = k.tenant_key AND c.pass = k.pass AND c.k1 = k.k1
INNER JOIN stg_records AS mine ON mine.event_id = k.event_id
-- The other side is another decision: one record that lists a failed and a good try under one key contradicts nobody.
INNER JOIN int_claim_keys AS o
    ON o.tenant_key = k.tenant_key AND o.pass = k.pass AND o.k1 = k.k1 AND o.executed <> k.executed
INNER JOIN stg_records AS other ON other.event_id = o.event_id AND other.decision_id <> mine.decision_id
