"""Errors of `dashboard`.

DashboardError              base; never raised itself
├── NoSnapshotError         nothing has been published in the data directory yet
├── UnreadableError         there is a snapshot, but it cannot be opened or queried
└── NotUpError              the server did not come up
"""

from __future__ import annotations


class DashboardError(Exception):
    """Base of the errors that this package raises on purpose; the text is one line with cause and fix."""


class NoSnapshotError(DashboardError):
    """There is no ``gatewatch.duckdb`` in the data directory."""


class UnreadableError(DashboardError):
    """The snapshot is damaged, of another version, or this user may not read it."""


class NotUpError(DashboardError):
    """The dashboard's server ended or did not answer in time."""
