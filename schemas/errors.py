"""Errors of `schemas`.

SchemaError                 base; never raised itself
└── PolicyError             a policy file cannot be used: where, why, and the fix
"""

from __future__ import annotations


class SchemaError(Exception):
    """Base of the errors that this package raises on purpose; the text is one line with cause and fix."""


class PolicyError(SchemaError):
    """A policy file is missing, is not TOML or YAML, or says something that the policy model does not know."""
