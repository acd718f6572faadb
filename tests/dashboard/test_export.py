"""What is downloaded is data in every spreadsheet, whoever wrote the cells."""

from __future__ import annotations

import csv
import io
from datetime import datetime

import polars as pl
import pytest

from dashboard.export import csv as exported
from dashboard.export import safe_cell


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "=HYPERLINK(\"http://192.0.2.1\",\"x\")",
        "+1",
        "-1+cmd|'/c calc'!A1",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "\u00a0=1",
        "'=1",
        '"=1',
        ";=1",
        "\uff1d1",
        "\ufeff=1",
    ],
)  # fmt: skip
def test_what_could_be_a_formula_begins_with_an_apostrophe(cell: str) -> None:
    assert safe_cell(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["", "TICKET-1", "refund = yes", "a+b", "1=1", "mail@example.org", "2026-03-01"])
def test_plain_text_stays_as_it_is(cell: str) -> None:
    assert safe_cell(cell) == cell


def test_a_file_can_be_read_back_cell_by_cell() -> None:
    frame = pl.DataFrame(
        {
            "ticket": ["T-1", "=2", None],
            "note": ['a "quoted" one, with a comma', "two\nlines", "é \U0001f600"],
            "n": [1, -2, None],
            "ts": [datetime(2026, 3, 1, 12, 30), None, None],  # noqa: DTZ001 - naive UTC, as everywhere
            "evidence": [["e1", "e2"], [], None],
            "silent": [True, False, None],
        }
    )

    raw = exported(frame)

    assert raw.startswith(b"\xef\xbb\xbf")  # or a spreadsheet takes UTF-8 for something else
    header, *rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    assert header == ["ticket", "note", "n", "ts", "evidence", "silent"]
    assert rows[0] == ["T-1", 'a "quoted" one, with a comma', "1", "2026-03-01T12:30:00.000000", "e1 e2", "true"]
    assert rows[1][:3] == ["'=2", "two\nlines", "-2"]
    assert rows[2] == ["", "é \U0001f600", "", "", "", ""]


def test_an_injection_in_a_list_does_not_slip_through() -> None:
    assert b"'=cmd" in exported(pl.DataFrame({"evidence": [["=cmd", "e2"]]}))
