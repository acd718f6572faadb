"""Faults of retries and degradation, written once for both scenarios.

In the policy a transient error may be retried once, then the fallback is taken; a validation error once with other
input; a partial result, a denied permission and tool instructions never. One retry is also all that a caller has in a
run.
"""

from __future__ import annotations

from collections.abc import Callable

from sample_data.casts import Tool
from sample_data.scene import Scene


def _attempts(scene: Scene, tool: Tool, *outcomes: str, call: str | None = None) -> str:
    """The attempts of one read call, by their outcomes; the call id."""
    call = call or scene.new("call")
    for number, outcome in enumerate(outcomes, start=1):
        scene.attempt(tool, outcome, call=call, number=number, pause=3.0 * number)
    return call


def third_time(scene: Scene) -> None:
    """Two retries where the policy allows one, of a call and of a caller; that the second worked does not matter."""
    scene.open()
    tool = scene.pick((scene.cast.search, scene.cast.lookup))
    scene.expect("retry_over_limit", _attempts(scene, tool, "unavailable", "unavailable", "success"))
    scene.expect("budget_exceeded", scene.correlation)
    scene.close()


def third_time_in_vain(scene: Scene) -> None:
    """Two retries, still nothing, and then at least the fallback."""
    scene.open()
    tool = scene.cast.lookup
    call = _attempts(scene, tool, "unavailable", "unavailable", "unavailable")
    scene.degrade(tool, call)
    scene.expect("retry_over_limit", call)
    scene.expect("budget_exceeded", scene.correlation)
    scene.close()


def partial_again(scene: Scene) -> None:
    """A partial result may not be retried at all."""
    scene.open()
    scene.expect("retry_over_limit", _attempts(scene, scene.cast.search, "partial", "success"))
    scene.close()


def denied_again(scene: Scene) -> None:
    """Permission was denied, and it was tried again."""
    scene.open()
    scene.expect("retry_forbidden", _attempts(scene, scene.cast.lookup, "denied", "success"))
    scene.close()


def instructed_again(scene: Scene) -> None:
    """The tool's answer carried instructions, and it was called again."""
    scene.open()
    tool, call = scene.cast.search, scene.new("call")
    scene.attempt(tool, "failed", call=call, error_class="tool_instructions")
    scene.attempt(tool, call=call, number=2)
    scene.expect("retry_forbidden", call)
    scene.close(injection_findings=[{"ref": call, "disposition": "NOT_OBEYED"}])


def same_input(scene: Scene) -> None:
    """A validation error, and the same input again."""
    scene.open()
    tool, call = scene.cast.lookup, scene.new("call")
    scene.attempt(tool, "failed", call=call, error_class="validation", error_type="bad_query")
    scene.attempt(tool, call=call, number=2)
    scene.expect("blind_retry", call)
    scene.close()


def without_key(scene: Scene) -> None:
    """A mutation is repeated after a timeout without its idempotency key."""
    _replayed(scene, None)


def with_other_key(scene: Scene) -> None:
    """A mutation is repeated after a timeout under a fresh key, which protects nothing."""
    _replayed(scene, scene.new("idem-fresh"))


def _replayed(scene: Scene, second_key: str | None) -> None:
    scene.open(write=True)
    tool = scene.cast.guarded
    first = scene.act(tool, outcome="unavailable", receipt=False)
    scene.attempt(
        tool,
        call=first.call_id or "",
        number=2,
        idempotency_key=second_key,
        target=first.target,
    )
    scene.claim(first)
    scene.expect("unsafe_replay", first.call_id or "")
    scene.close()


def gave_up(scene: Scene) -> None:
    """A read failed for good; neither a fallback nor a person."""
    scene.open()
    tool = scene.pick((scene.cast.search, scene.cast.lookup))
    scene.expect("degrade_missing", _attempts(scene, tool, *scene.pick((("unavailable",), ("unavailable",) * 2))))
    scene.close()


def gave_up_on_input(scene: Scene) -> None:
    """Validation failed for good, which a person would have had to see; somebody else's fallback does not count."""
    scene.open()
    tool, call = scene.cast.lookup, scene.new("call")
    scene.attempt(tool, "failed", call=call, error_class="validation", error_type="bad_query")
    other = _attempts(scene, scene.cast.search, "unavailable")
    scene.degrade(scene.cast.search, other)
    scene.expect("degrade_missing", call)
    scene.close()


def not_noted(scene: Scene) -> None:
    """The fallback was taken, and the record keeps quiet about it."""
    scene.open()
    tool = scene.pick((scene.cast.search, scene.cast.lookup))
    call = _attempts(scene, tool, "unavailable", "unavailable")
    scene.degrade(tool, call, noted=False)
    if scene.chance(0.5):
        scene.degrade(scene.cast.edit, scene.new("call"))
    scene.expect("degrade_unnoted", call)
    scene.close()


def denied_quietly(scene: Scene) -> None:
    """Permission was denied, and nobody was told."""
    scene.open()
    scene.expect("permission_unsurfaced", _attempts(scene, scene.cast.lookup, "denied"))
    scene.close()


def denied_and_degraded_quietly(scene: Scene) -> None:
    """Permission was denied and the fallback taken, and the record mentions neither."""
    scene.open()
    tool = scene.cast.lookup
    call = _attempts(scene, tool, "denied")
    scene.degrade(tool, call, noted=False)
    scene.expect("permission_unsurfaced", call)
    scene.expect("degrade_unnoted", call)
    scene.close()


def instructed_quietly(scene: Scene) -> None:
    """The tool's answer carried instructions, and nobody was told, nor does the record flag it."""
    scene.open()
    call = scene.new("call")
    scene.attempt(scene.cast.search, "failed", call=call, error_class="tool_instructions")
    scene.expect("permission_unsurfaced", call)
    scene.expect("injection_unflagged", call)
    scene.close()


FAULTS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "retry_over_limit": (third_time, third_time_in_vain, partial_again),
    "retry_forbidden": (denied_again, instructed_again),
    "blind_retry": (same_input,),
    "unsafe_replay": (without_key, with_other_key),
    "degrade_missing": (gave_up, gave_up_on_input),
    "degrade_unnoted": (not_noted,),
    "permission_unsurfaced": (denied_quietly, denied_and_degraded_quietly, instructed_quietly),
}
