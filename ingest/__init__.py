"""Ingest: from bytes to rows, with a ledger in between.

`pipeline.Pipeline` is the loop, `rebuild.rebuild` and `verify.verify` work from the ledger alone. One line's way:
`sources` (where it comes from) → `redact` (personal data goes) → `ledger.segments` (it is durable) → `contract` and
`dialects` (what it says) → `frame` (a row) → `ledger.store` (one transaction). It knows no rule.
"""
