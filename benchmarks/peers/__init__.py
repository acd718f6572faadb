"""The programs that Gatewatch is compared with. They live in an environment of their own, `benchmarks/.venv-peers`,
and only the scripts of this folder, which run there, import them: nothing of Gatewatch does, and they import nothing
of Gatewatch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measuring import in_child

ENVIRONMENT = Path(__file__).parents[1] / ".venv-peers"

_QUIET = {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "PHOENIX_TELEMETRY_ENABLED": "false",
    "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
}
"""Peers that would tell somebody that they run are told not to."""


def peer_python() -> Path:
    """The interpreter of the peers' environment. Ends the program when there is none."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"the peers are not installed: run `make {ENVIRONMENT.parent.name}/{ENVIRONMENT.name}/.made`")
    return python


def environment(home: Path | None = None) -> dict[str, str]:
    """The environment variables that a peer runs with; `home` is where it keeps what it wants to keep."""
    own: Mapping[str, str] = {} if home is None else {"HOME": str(home)}
    return {**os.environ, **_QUIET, **own}


def script(name: str) -> Path:
    """A script of this folder."""
    return Path(__file__).with_name(f"{name}.py")


def peer_script(name: str, *arguments: object) -> Any:
    """What a script of this folder prints at its end, as JSON, run with the peers' interpreter."""
    return in_child([peer_python(), script(name), *arguments], environment())
