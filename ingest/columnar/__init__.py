"""The fast road of validation: many lines at once, with the verdicts and values of the event models themselves."""

from ingest.columnar.validator import ColumnarValidator

__all__ = ["ColumnarValidator"]
