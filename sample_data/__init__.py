"""Sample data with ground truth, the two complete policies, and a small committed sample.

The files are reached through `sample_path` and `policy_path`, from a checkout as well as from an installed wheel.
`sample_data.generate.generate` makes more.
"""

from __future__ import annotations

from pathlib import Path

POLICIES = ("support-squad", "workbench")
"""The names of the shipped policies; each is also the name of the scenario that belongs to it."""

SAMPLE_EVENTS, SAMPLE_SEED = 600, 7
"""What the committed sample was generated with (``python -m sample_data`` writes it anew)."""

_HERE = Path(__file__).resolve().parent


def sample_path(name: str = "events.jsonl") -> Path:
    """The committed sample's file: ``events.jsonl``, ``truth.jsonl`` or ``summary.json``."""
    return _HERE / "sample" / name


def policy_path(name: str = "support-squad") -> Path:
    """The shipped policy of this name. Raises ValueError for another name."""
    if name not in POLICIES:
        raise ValueError(f"unknown policy {name!r}: it is one of {', '.join(POLICIES)}")
    return _HERE / "policies" / f"{name}.toml"
