"""``python -m sample_data``: write the committed sample anew, after a change of the generator."""

from __future__ import annotations

from sample_data import SAMPLE_EVENTS, SAMPLE_SEED, sample_path
from sample_data.generate import generate

if __name__ == "__main__":
    generate(SAMPLE_EVENTS, SAMPLE_SEED, sample_path())
