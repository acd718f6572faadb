"""What the address of the page says: filters and the opened finding. The address is the only place that keeps them.

So a link shows a colleague the same page, and the browser's back button works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

_MOST = 50
_LONGEST = 1_000
"""Bounds of what is taken from an address; no name in the database is longer."""

FIELDS = {"severity": "severities", "rule": "rules", "tenant": "tenants"}
"""Query parameter → field of `View`."""


@dataclass(frozen=True, slots=True)
class View:
    """One state of the page. An empty filter lets everything through."""

    severities: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    """Tenants; ``""`` stands for data without one, which no tenant can be called."""
    finding: str | None = None

    @classmethod
    def from_params(cls, params: Mapping[str, Sequence[str]]) -> View:
        """Read the query parameters, each a list of values. Parameters that the page does not know are passed over."""

        def values(name: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(value for value in params.get(name, ()) if len(value) <= _LONGEST))[:_MOST]

        return cls(
            severities=values("severity"),
            rules=values("rule"),
            tenants=values("tenant"),
            finding=next((value for value in values("finding") if value), None),
        )

    def to_params(self) -> dict[str, list[str]]:
        """The query parameters of this state; what is empty is left out."""
        found = {name: list(getattr(self, field)) for name, field in FIELDS.items()}
        found["finding"] = [self.finding] if self.finding else []
        return {name: values for name, values in found.items() if values}

    @property
    def filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.severities or self.rules or self.tenants)

    def with_filter(self, name: str, values: Sequence[str]) -> View:
        """The same state with another value of one filter, named as in the address."""
        changes: dict[str, Any] = {FIELDS[name]: tuple(values)}
        return replace(self, **changes)

    def with_finding(self, finding: str | None) -> View:
        """The same state with another finding opened, or none."""
        return replace(self, finding=finding)
