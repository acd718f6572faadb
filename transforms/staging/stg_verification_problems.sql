-- One row is one thing that did not agree when ledger and database were compared last.
-- @scope all
WITH newest AS (
    SELECT verified_at, ok, problems
    FROM verifications
    -- Of two comparisons at one time the worse one counts.
    ORDER BY verified_at DESC, ok
    LIMIT 1
)

SELECT DISTINCT
    n.verified_at,
    u.problem AS problem,
    left(u.problem, 200) AS summary
FROM newest AS n
CROSS JOIN unnest(n.problems) AS u (problem)
WHERE NOT n.ok
