"""Errors of `transforms`.

TransformError              base; never raised itself
├── CatalogueError          a rule's or relation's SQL file breaks the conventions (names the file and the line)
└── PublishError            a snapshot cannot be written
"""

from __future__ import annotations


class TransformError(Exception):
    """Base of the errors that this package raises on purpose; the text is one line with cause and fix."""


class CatalogueError(TransformError):
    """A SQL file of rules or relations is not what the catalogue can use."""


class PublishError(TransformError):
    """The snapshot for readers could not be written; the work database is unharmed."""
