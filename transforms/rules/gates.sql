-- One row is one gate that one shipment needed and did not pass as the policy demands.
-- @rule gate_missing critical
--   means: The work was shipped and the gate never decided about it: a silent drop.
--   do: Find out why the gate did not run, review the work now, and recall it if it fails.
--   satisfied by: a decision `passed` of the gate, by one of its reviewers, before the shipment.
-- @rule gate_errored_open critical
--   means: The gate could not run, and the work was shipped all the same instead of being held back.
--   do: Mend the gate's own tool call, review the work now, and make the gate fail closed.
--   satisfied by: a decision `passed` before the shipment, or no shipment while the gate is out.
-- @rule gate_blocked_shipped critical
--   means: The gate said no and the work was shipped anyway.
--   do: Recall or correct what was sent, and find out who or what went past the block.
--   satisfied by: a later decision `passed` before the shipment, or no shipment.
-- @rule gate_late high
--   means: The gate passed the work only after it had left the house.
--   do: Ship only after the decision; check what else that path ships early.
--   satisfied by: the same decision before the shipment.
-- @rule gate_stale high
--   means: The gate passed something else or too long ago: another digest, an expired pass, or one older than allowed.
--   do: Have the version that was shipped reviewed, and re-review after every change.
--   satisfied by: a fresh decision `passed` for the digest that was shipped.
-- @rule gate_out_of_order medium
--   means: Every gate passed, but not in the order that the pipeline demands.
--   do: Restore the order; a later check may rest on an earlier one that had not been made.
--   satisfied by: decisions in the pipeline's order.
-- @rule gate_self_passed high
--   means: The author of the work passed it.
--   do: Have somebody else review it.
--   satisfied by: a decision `passed` by a reviewer other than the author.
-- @rule gate_foreign_reviewer high
--   means: Somebody decided who is no reviewer of this gate.
--   do: Have one of the gate's reviewers decide, or add the reviewer to the policy.
--   satisfied by: a decision `passed` by one of the gate's reviewers.
-- @rule gate_reused high
--   means: One pass was used for a second shipment that it does not cover.
--   do: Review each shipment; a pass covers one, or one digest.
--   satisfied by: a decision `passed` of its own for this shipment.
-- @rule gate_skipped medium
--   means: The gate was skipped, and somebody said so: declared, not silent.
--   do: Check that the reason holds and that skipping stays rare.
--   satisfied by: a decision `passed` before the shipment.
-- @rule gate_waived low
--   means: Somebody waived the gate for this shipment: declared, not silent.
--   do: Check that the person may waive it and that waivers stay rare.
--   satisfied by: a decision `passed` before the shipment.
SELECT
    c.verdict AS rule,
    CASE WHEN c.status = 'pending' THEN 'pending' ELSE 'open' END AS status,
    c.subject,
    c.shipped_event_id || '/' || c.pipeline AS occurrence,
    c.correlation_id,
    c.run_id,
    c.tenant,
    c.caller,
    c.tool,
    c.gate,
    c.shipped_ts AS event_ts,
    ARRAY[c.shipped_event_id, c.decision_event_id, c.cause_event_id] AS evidence,
    CASE c.verdict
        WHEN 'gate_missing' THEN c.subject || ' went out without any decision of the gate ' || c.gate || '.'
        WHEN 'gate_errored_open' THEN c.subject || ' went out although the gate ' || c.gate || ' could not run'
            || coalesce(': its own call ' || c.cause_event_id || ' had failed.', '.')
        WHEN 'gate_blocked_shipped' THEN c.subject || ' went out although the gate ' || c.gate || ' had blocked it.'
        WHEN 'gate_late' THEN c.subject || ' went out before the gate ' || c.gate || ' passed it.'
        WHEN 'gate_stale' THEN c.subject || ' went out on a pass of the gate ' || c.gate
            || ' that was for another version, expired or too old.'
        WHEN 'gate_out_of_order' THEN c.subject || ' passed the gate ' || c.gate || ' before a gate that must come first.'
        WHEN 'gate_self_passed' THEN c.subject || ' was passed at the gate ' || c.gate || ' by its own author, '
            || c.decided_by || '.'
        WHEN 'gate_foreign_reviewer' THEN c.subject || ' was passed at the gate ' || c.gate || ' by ' || c.decided_by
            || ', who is no reviewer of it.'
        WHEN 'gate_reused' THEN c.subject || ' went out on a pass of the gate ' || c.gate
            || ' that an earlier shipment had already used.'
        WHEN 'gate_skipped' THEN c.subject || ' went out with the gate ' || c.gate || ' skipped by ' || c.decided_by || '.'
        ELSE c.subject || ' went out with the gate ' || c.gate || ' waived by ' || c.decided_by || '.'
    END AS message
FROM gate_checks AS c
WHERE c.verdict <> 'passed'
