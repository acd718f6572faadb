"""What is said of checkpoints that did not arrive."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gatewatch.service.chores import Chores, Intervals
from gatewatch.service.notary import Outcome


class Said:
    """A reporter that keeps what it is told; the clock stands still."""

    def __init__(self) -> None:
        self.clock = SimpleNamespace(monotonic=lambda: 0.0)
        self.metrics = SimpleNamespace(handed_out=lambda **_: None)
        self.texts: list[str] = []

    def trouble(self, _: str, text: str, **__: Any) -> None:
        """Keep it."""
        self.texts.append(text)


def test_every_place_that_fails_is_named() -> None:
    """One that is down for good must not hide that another has stopped taking checkpoints."""
    problems = [f"the checkpoint did not reach https://{name}: it answered 500" for name in ("a", "b", "c", "d")]
    notary = SimpleNamespace(handed_out=lambda _: Outcome(0, problems))
    engine: Any = SimpleNamespace(notary=notary)
    said: Any = Said()
    Chores(engine, Intervals(), said)._handed_out()
    (text,) = said.texts
    for problem in problems:
        assert problem in text
    assert "more)" not in text
    assert "\n" not in text
