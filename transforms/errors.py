"""Errors of `transforms`.

TransformError              base; never raised itself
├── BacktestError           a snapshot cannot be judged again by another policy
├── CatalogueError          a rule's or relation's SQL file breaks the conventions (names the file and the line)
│   └── OwnRuleError        … and the file is one of the user's own, or the folder that holds them
└── PublishError            a snapshot cannot be written
"""

from __future__ import annotations


class TransformError(Exception):
    """Base of the errors that this package raises on purpose; the text is one line with cause and fix."""


class BacktestError(TransformError):
    """The stored history could not be judged by another policy; nothing stored was touched."""


class CatalogueError(TransformError):
    """A SQL file of rules or relations is not what the catalogue can use."""


class OwnRuleError(CatalogueError):
    """A file in the user's folder of rules, or the folder itself, cannot be used: the user's input to mend."""


class PublishError(TransformError):
    """The snapshot for readers could not be written; the work database is unharmed."""
