"""Ceilings of the policy: a value that would overflow in the middle of judging is refused when the file is read."""

from __future__ import annotations

import pytest

from schemas.errors import PolicyError
from schemas.policy_file import parse_policy

HEAD = 'name = "p"\nversion = 1\n'
GATE = '[[gates]]\nname = "quality"\n'
PIPELINE = """
[[pipelines]]
name = "reply"
gates = ["quality"]
grace = @
[pipelines.applies_to]
kind = "artifact.shipment"
"""


def complaint(text: str, *, yaml_syntax: bool = False) -> str:
    """The one line that a policy text gets."""
    with pytest.raises(PolicyError) as raised:
        parse_policy(text, name="x.toml", yaml_syntax=yaml_syntax)
    assert "\n" not in str(raised.value)
    return str(raised.value).removeprefix("policy x.toml: ")


_TIMES = ["allowed_lateness", "clock_skew", "idle_after", "fcr_window", "grace", "run_timeout"]


@pytest.mark.parametrize(
    ("head", "place"),
    [(f"{HEAD}[time]\n{key}", f"[time] {key}") for key in _TIMES]
    + [
        (f"{HEAD}{GATE}max_age", '[[gates]] "quality" max_age'),
        (f"{HEAD}[approvals]\nexpires_after", "[approvals] expires_after"),
        (f"{HEAD}[sla.P1]\nfirst_response", "[sla.P1] first_response"),
        (f"{HEAD}[sla.P1]\nwarn", "[sla.P1] warn"),
        (HEAD + GATE + PIPELINE, '[[pipelines]] "reply" grace'),
    ],
)
def test_a_duration_ends_at_a_hundred_years(head: str, place: str) -> None:
    """A longer one would pass here and overflow in the middle of judging, added to the time of an event."""
    text = head if "@" in head else head + " = @\n"
    parse_policy(text.replace("@", '"36500d"'))  # does not raise
    for longer in ("36500.1d", "876001h", "106751990d", "999999999d", "9" * 400 + "s"):
        said = complaint(text.replace("@", f'"{longer}"'))
        assert said == f'{place}: "{longer[:40]}" is longer than a duration can be; write at most "36500d"'


@pytest.mark.parametrize(
    ("text", "ceiling"),
    [('name = "p"\nversion = {}\n', 1_000_000_000)]
    + [(f"{HEAD}[budgets.x]\n{key} = {{}}\n", 1_000_000_000) for key in ("dispatches", "judge_cycles")]
    + [
        (f"{HEAD}[budgets.x]\nretries_per_caller = {{}}\n", 1_000_000_000),
        (f"{HEAD}[routing]\nunknown_tools = {{}}\n", 1_000_000_000),
        (f"{HEAD}[retry.transient]\nmax_retries = {{}}\n", 1_000),
        (f"{HEAD}[approvals]\namount_tolerance = {{}}\n", 10**15),
    ],
)
def test_a_number_has_a_ceiling(text: str, ceiling: int) -> None:
    """What no column can hold is refused with its place and the ceiling."""
    parse_policy(text.format(ceiling))  # does not raise
    *_, table, line = text.splitlines() if HEAD in text else ["the top level", "version = {}"]
    key = line.split()[0]
    for number in (ceiling + 1, 2**63, 10**30):
        said = complaint(text.format(number))
        assert said.startswith(f"{table} {key}: Input should be less than or equal to {ceiling}"), said


def test_a_number_that_cannot_even_be_read_is_no_crash() -> None:
    """Python refuses to read more than 4,300 digits."""
    assert complaint(f'name = "p"\nversion = {"9" * 5_000}\n').startswith("not valid TOML: ")
    assert complaint(f"name: p\nversion: {'9' * 5_000}\n", yaml_syntax=True).startswith("not valid YAML: ")
