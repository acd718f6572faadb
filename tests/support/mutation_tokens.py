"""Odd tokens for `tests.support.mutations`: what may stand in a string, as a number, as a time, between tokens."""

from __future__ import annotations

CHARS = [
    b"\\n", b"\\u0000", b"\\u001f", b"\\u007f", b"\\u0080", b"\\u009f", b"\\u00a0", b"\\ud800", b"\\udc00",
    b"\\ud83d\\ude00",
    b"\\ude00\\ud83d", b"\\/", b"\\\\", b'\\"', b"\\b", b"\\f", b"\\r", b"\\t", b"\\u0041", b"\\u00E9", b"\\u212a",
    b"\\u2028",
    b"\x7f", b"\xc2\x80", b"\xc2\x85", b"\xc2\x9f", b"\xc2\xa0", b"\xe2\x84\xaa", b"\xc4\xb0", b"\xc5\xbf",
    b"\xef\xac\x81",
    b"\xf0\x9f\x98\x80", b"\xf4\x8f\xbf\xbf", b"\xef\xbf\xbf", b"\xef\xbb\xbf", b"\xcc\x81", b" ", b"\t", b"\n",
    b"\r", b"\x00",
    b"\x1f", b"\xff", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf0\x80\x80\xaf",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80", b"\x80", b"\xc3", b"\\u12", b"\\x", b"\\U0041", b"\\'", b"'", b"a", b"A", b"k", b"0",
    b"_", b".",
    b"-", b":", b"/", b"@", b"\\u000a", b"\\u0022", b"\\u005c", b"\\uFFFF", b"\\uDBFF\\uDFFF", b"\\u0085", b"\\u000A",
]  # fmt: skip
"""What may stand in a string, or not: escapes, halves of pairs, controls, all lengths of UTF-8, some of it invalid."""

UNITS = [b"x", b"\xc3\xa9", b"\xe6\xbc\xa2", b"\xf0\x9f\x98\x80", b"\\u00e9", b"\\ud83d\\ude00", b"\\n", b"\\/"]
LENGTHS = [0, 1, 2, 99, 100, 101, 199, 200, 201, 333, 334, 400, 499, 500, 501, 667, 999, 1000, 1001, 1999, 2000, 2001]
DIGITS = [
    b"0", b"00", b"01", b"-0", b"-0.0", b"0.0", b"-0e0", b"+1", b"1.", b".5", b"1.0", b"1.50", b"1e-05", b"1E+2",
    b"1e2",
    b"5.5", b"3", b"4", b"-1", b"-1e-9", b"-1e-400", b"1e308", b"1e309", b"1e-330", b"9007199254740991",
    b"9007199254740992",
    b"9007199254740993", b"9223372036854775806", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775808",
    b"-9223372036854775809", b"18446744073709551615", b"18446744073709551616", b"100000000000000000",
    b"999999999999999999",
    b"1000000000000000000", b"9999999999999999999", b"10000000000000000000", b"99999999999999999999", b"1_0", b"0x1F",
    b"1e5", b"1E400", b"123456789.123456789123456789", b"0.1", b"0.30000000000000004", b"4.35", b"1e23", b"8.5e-9",
    b"0.000001", b"0.0000001", b"123456789012345680000", b"1e16", b"1e15", b"72057594037927933", b"1.e1", b"1e", b"1e+",
    b"2.2250738585072011e-308", b"17976931348623157e292", b"0.10000000000000000555", b"9999999999999999.5", b"1f",
    b"5L",
]  # fmt: skip
EDGES = [
    b"0", b"1", b"-1", b"3", b"4", b"-0", b"-0.0", b"0.0", b"1.0", b"5.5", b"-1.5", b"-0.1", b"1e0", b"0e0", b'"1"',
    b'"0"', b"null",
    b"9223372036854775807", b"9223372036854775808", b"1e400", b"9007199254740993", b"0.1",
]  # fmt: skip
"""Where the contract's numbers end, or another type begins."""
ZONES = [
    b"Z", b"z", b"+00:00", b"-00:00", b"+05:30", b"-05:30", b"+14:00", b"+14:59", b"+15:00", b"-15:59", b"+23:59",
    b"-23:59",
    b"+24:00", b"+00:60", b"+0530", b"+05", b"", b" Z", b"+05:30:00", b" UTC", b"Europe/Berlin", b"+5:30", b"\\n",
    b"Z\\n",
]  # fmt: skip
WORDS = [
    b'"sha256:' + b"0" * 64 + b'"', b'"sha256:' + b"0" * 63 + b'"', b'"sha256:' + b"A" * 64 + b'"',
    b'"customer:7f3a9c"',
    b'"customer:7f3a9"', b'"customer:7F3A9C"', b'"customer:jane"', b'"SHA256:' + b"0" * 64 + b'"', b'"true"', b'"5"',
    b'"1.5"',
    b'"null"', b'"yes"', b'"NaN"', b'"-"', b'".a"', b'"a"', b'"A"', b'"\xe2\x84\xaa"', b'"a\\n"', b'"a "', b'" a"',
    b'"a\xc4\xb0"',
    b'"infinity"', b'"epoch"', b'"now"', b'"2026-06-03"', b'"10:00:00Z"', b'"20260603T100000Z"',
    b'"2026-W23-3T10:00:00Z"',
    b'"' + b"0" * 32 + b'"', b'"' + b"f" * 16 + b'"', b'"' + b"F" * 32 + b'"', b'"' + b"0" * 31 + b'"',
    b'"' + b"0" * 33 + b'"',
    b'"P1"', b'"p1"', b'"P5"', b'"P1\\n"', b'"resolved"', b'"RESOLVED"', b'"Resolved "', b'"n/a"', b'"n\\/a"',
    b'"jane@example.com"', b'"\\u006aane@example.com"', b'"+49 170 1234567"', b'"4111 1111 1111 1111"',
]  # fmt: skip
FIELDS = [
    b"event_id", b"ts", b"kind", b"run_id", b"tenant", b"source", b"trace_id", b"span_id", b"correlation_id", b"note",
    b"reason",
    b"tokens", b"in", b"out", b"amount", b"scores", b"dims", b"sla", b"state", b"escalation", b"attempt", b"by",
    b"customer_ref",
    b"type", b"specversion", b"resourceSpans", b"uuid", b"expires_at", b"granted_tools", b"seq", b"Ts", b"ts ",
    b"\\u0074s",
    b"t\\u0073", b"kin\\u0064", b"k\\u0069nd", b"event\\u005fid", b"sla.owner", b"sla.state", b"tokens.in",
    b"actions_attempted[0].x", b"", b"owner", b"x",
]  # fmt: skip
BLANKS = [
    b" ", b"  ", b"\t", b"\r", b"\n", b"\r\n", b"\x0b", b"\x0c", b"\xc2\xa0", b"\x00", b"/**/", b"//\n",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
]  # fmt: skip
"""What may stand between tokens, or must not."""
TAILS = [b"\n", b"\r", b"\r\n", b" ", b"\x00", b"\t\n ", b"\xc2\xa0", b",", b"}", b"{}", b"\x0c", b"null"]
"""What may stand behind a line, or must not."""

PLAIN = [b"null", b"null", b"true", b"false", b"[]", b"{}", b'""', b"0", b"1", b"[null]", b'{"a":1}']
FRACTIONS = [b".", b".0", b".9999999", b".999999999999", b".0000005", b".000000", b",5", b".5 ", b".12345649"]
YEARS = [0, 1, 1582, 1899, 1900, 1969, 2000, 2023, 2024, 2100, 2199, 2200, 9999]
