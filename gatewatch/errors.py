"""Errors of `gatewatch`, and the exit codes that the command line promises.

GatewatchError              base: a line with cause and fix, and an exit code
├── InputError              exit 2: the user's input or usage is off
└── OperationError          exit 3: the pipeline itself failed
"""

from __future__ import annotations

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_INPUT = 2
EXIT_FAILED = 3


class GatewatchError(Exception):
    """Base of the errors that this package raises on purpose; the text is one line with cause and fix."""

    exit_code = EXIT_FAILED


class InputError(GatewatchError):
    """What the user gave cannot be used: a path, an option, a query, an id."""

    exit_code = EXIT_INPUT


class OperationError(GatewatchError):
    """Gatewatch could not do its work although the input was right."""
