"""Kafka topics: partitions read from stored positions, nothing skipped in silence."""
