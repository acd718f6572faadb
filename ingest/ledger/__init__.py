"""The ledger (append-only segments of chunks, the truth) and the store that is made from it."""
