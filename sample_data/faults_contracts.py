"""Faults against the tool contracts, written once for both scenarios.

Each function writes one run in which a call is not what the contract of its tool allows, in which a record keeps quiet
about instructions that a tool's answer carried, or in which somebody wrote down what identifies a person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sample_data.scene import Scene
from sample_data.story import Truth


def unknown_tool(scene: Scene) -> None:
    """A tool that the policy has never heard of, in two attempts of one call."""
    scene.open()
    tool, call = replace(scene.cast.search, name="web_fetch"), scene.new("call")
    scene.attempt(tool, "unavailable", call=call)
    scene.attempt(tool, call=call, number=2)
    scene.expect("tool_undeclared", call)
    scene.close()


def unknown_edit(scene: Scene) -> None:
    """A change by a tool without a contract, done and claimed in every other respect as it should be."""
    scene.open(write=True)
    deed = scene.act(replace(scene.cast.edit, name="patch_page", action="page-edit"))
    scene.claim(deed, by=scene.pick(("call_id", "idempotency_key")))
    scene.expect("tool_undeclared", deed.call_id or "")
    scene.close()


def outsider(scene: Scene) -> None:
    """Somebody who may not use the tool used it."""
    scene.open()
    call = scene.new("call")
    scene.attempt(scene.cast.lookup, call=call, caller=scene.also_called(scene.cast.outsider))
    scene.expect("caller_not_allowed", call)
    scene.close()


def outsider_refused(scene: Scene) -> None:
    """Somebody who may not use the tool tried to, was refused, and the record says so: they tried all the same."""
    scene.open()
    call = scene.new("call")
    scene.attempt(scene.cast.lookup, "denied", call=call, caller=scene.cast.outsider)
    scene.note(scene.cast.lookup, call)
    scene.expect("caller_not_allowed", call)
    scene.close()


def outsider_with_approval(scene: Scene) -> None:
    """A person approved the execution, which does not make its caller an allowed one."""
    scene.open(write=True)
    deed = scene.act(scene.cast.hard, caller=scene.cast.outsider)
    scene.claim(deed)
    scene.expect("caller_not_allowed", deed.call_id or "")
    scene.close()


def read_as_write(scene: Scene) -> None:
    """A read that was called with the right to write."""
    scene.open()
    call = scene.new("call")
    scene.attempt(scene.cast.search, call=call, privilege=scene.pick(("write", "execute")))
    scene.expect("privilege_mismatch", call)
    scene.close()


def write_as_read(scene: Scene) -> None:
    """A change that was called as if it only read; both of its attempts belong to one finding."""
    scene.open(write=True)
    tool = scene.cast.edit
    first = scene.act(tool, outcome="unavailable", privilege="read")
    again = scene.act(tool, call=first.call_id, number=2, idempotency_key=first.key, privilege="read")
    scene.claim(again)
    scene.expect("privilege_mismatch", again.call_id or "")
    scene.close()


def change_as_harmless(scene: Scene) -> None:
    """A change that says of itself that it changes nothing, so that nobody waits for a claim of it."""
    scene.open(write=True)
    deed = scene.act(scene.cast.edit, side_effects="none")
    scene.expect("side_effects_understated", deed.call_id or "")
    scene.close()


def money_as_reversible(scene: Scene) -> None:
    """What cannot be taken back was called as if it could."""
    scene.open(write=True)
    deed = scene.act(scene.cast.soft, side_effects="reversible", undo="book it back")
    scene.claim(deed)
    scene.expect("side_effects_understated", deed.call_id or "")
    scene.close()


def no_way_back(scene: Scene) -> None:
    """A reversible change that does not say how to reverse it."""
    scene.open(write=True)
    deed = scene.act(scene.pick((scene.cast.edit, scene.cast.guarded)), undo=None)
    scene.claim(deed)
    scene.expect("undo_missing", deed.call_id or "")
    scene.close()


def no_way_back_from_half(scene: Scene) -> None:
    """A change done in part, which somebody checked, and no word on how to reverse the part."""
    scene.open(write=True)
    deed = scene.act(scene.cast.edit, outcome="partial", verified=True, undo=None)
    scene.claim(deed)
    scene.expect("undo_missing", deed.call_id or "")
    scene.close()


def no_digest(scene: Scene) -> None:
    """A change of which nobody can tell later what its input was."""
    scene.open(write=True)
    deed = scene.act(scene.cast.edit, input_digest=None)
    scene.claim(deed)
    scene.expect("digest_missing", deed.call_id or "")
    scene.close()


def failed_without_digest(scene: Scene) -> None:
    """An execution that failed; what was tried is unknown all the same."""
    scene.open(write=True)
    deed = scene.act(scene.cast.soft, outcome="failed", input_digest=None)
    scene.claim(deed, executed=False)
    scene.expect("digest_missing", deed.call_id or "")
    scene.close()


def unlisted_error(scene: Scene) -> None:
    """A read failed with an error that its contract does not list."""
    scene.open()
    call = scene.new("call")
    scene.attempt(scene.cast.lookup, "failed", call=call, error_type="quota_exceeded")
    scene.expect("error_undeclared", call)
    scene.close()


def unlisted_error_twice(scene: Scene) -> None:
    """Both attempts of a call ended with an error that nobody listed, and its fallback was taken."""
    scene.open()
    tool, call = scene.cast.search, scene.new("call")
    for number in (1, 2):
        scene.attempt(tool, "unavailable", call=call, number=number, error_type=scene.pick(("dns", "tls_handshake")))
    scene.degrade(tool, call)
    scene.expect("error_undeclared", call)
    scene.close()


def instructed_unflagged(scene: Scene) -> None:
    """A tool's answer carried instructions, the fallback was taken and noted, but no injection is on record."""
    scene.open()
    tool, call = scene.cast.search, scene.new("call")
    scene.attempt(tool, "failed", call=call, error_class="tool_instructions")
    scene.degrade(tool, call)
    scene.expect("injection_unflagged", call)
    scene.close()


def other_one_flagged(scene: Scene) -> None:
    """Two answers carried instructions, and the record flags the first of them only."""
    scene.open()
    first, second = scene.new("call"), scene.new("call")
    scene.attempt(scene.cast.search, "failed", call=first, error_class="tool_instructions")
    scene.attempt(scene.cast.lookup, "failed", call=second, error_class="tool_instructions")
    scene.expect("injection_unflagged", second)
    ref = scene.pick((first, scene.cast.search.name))
    scene.close("ESCALATED_TO_HUMAN", injection_findings=[{"ref": ref, "disposition": "NOT_OBEYED"}])


def flag_taken_back(scene: Scene) -> None:
    """The record flagged the injection, and its newest version does not any more."""
    scene.open()
    scene.silent = True
    tool, call = scene.cast.search, scene.new("call")
    scene.attempt(tool, "failed", call=call, error_class="tool_instructions")
    scene.degrade(tool, call)
    scene.expect("injection_unflagged", call)
    scene.close(injection_findings=[{"ref": call, "disposition": "NOT_OBEYED"}])
    scene.record("RESOLVED")


def told_too_much(scene: Scene) -> None:
    """A note holds an address or a number, which is taken out: one finding per tenant and source, however many runs."""
    scene.open()
    source = scene.pick(("chat-widget", "mail-import", None))
    person = scene.pick(("asked by jane.roe@example.com", "call back under +49 30 901820"))
    scene.attempt(scene.cast.lookup, call=scene.new("call"), source=source, note=person)
    scene.story.truth.append(Truth("pii_redacted", source or "unknown", None))
    scene.close()


FAULTS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "tool_undeclared": (unknown_tool, unknown_edit),
    "caller_not_allowed": (outsider, outsider_refused, outsider_with_approval),
    "privilege_mismatch": (read_as_write, write_as_read),
    "side_effects_understated": (change_as_harmless, money_as_reversible),
    "undo_missing": (no_way_back, no_way_back_from_half),
    "digest_missing": (no_digest, failed_without_digest),
    "error_undeclared": (unlisted_error, unlisted_error_twice),
    "injection_unflagged": (instructed_unflagged, other_one_flagged, flag_taken_back),
    "pii_redacted": (told_too_much, told_too_much),
}
