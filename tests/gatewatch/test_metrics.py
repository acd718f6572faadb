"""`/metrics` and `/healthz`: what they say, to whom, and that no client can hold up the service."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from datetime import timedelta
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gatewatch import metrics_server
from gatewatch.errors import InputError, OperationError
from gatewatch.metrics import Metrics
from gatewatch.metrics_server import MetricsServer, serving
from gatewatch.service.status import Status
from ingest.accounting import Accounting
from tests.support.live import START

NOW = START + timedelta(minutes=5)
HOSTILE = 'jsonl:a"b\\c\nd\udcff'


class Board:
    """A server on a free port, and what it shows."""

    def __init__(self, server: MetricsServer, status: Status, metrics: Metrics) -> None:
        self.status = status
        self.metrics = metrics
        self.server = server
        self.address = (str(urlsplit(server.url).hostname), int(urlsplit(server.url).port or 0))

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
        connection = HTTPConnection(*self.address, timeout=30)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        with contextlib.closing(connection):
            return answer.status, answer.read().decode(), dict(answer.getheaders())

    def samples(self) -> dict[tuple[str, ...], float]:
        """Value by name and label values, read as Prometheus reads them."""
        _, text, _ = self.ask("/metrics")
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@pytest.fixture
def board() -> Iterator[Board]:
    status = Status(START)
    metrics = Metrics(status, {HOSTILE: "bytes", "kafka:t": "messages"}, lambda: NOW)
    health = lambda: status.health(NOW)  # noqa: E731
    with serving(("127.0.0.1", 0), metrics.registry, health, allow_remote=False) as server:
        yield Board(server, status, metrics)


def test_lines_add_up_by_verdict_and_reason(board: Board) -> None:
    first = Accounting(lines=10, accepted=6, duplicate=1, quarantined=2, blank=1, redacted=3)
    first.reasons.update({"schema": 2})
    board.metrics.committed(first, [0.3])
    board.metrics.committed(Accounting(lines=1, accepted=1), [20.0])
    found = board.samples()
    assert [
        found["gatewatch_lines_total", verdict] for verdict in ("accepted", "duplicate", "quarantined", "blank")
    ] == [
        7,
        1,
        2,
        1,
    ]
    assert found["gatewatch_quarantined_lines_total", "schema"] == 2
    assert found["gatewatch_redacted_lines_total",] == 3
    assert found["gatewatch_commit_duration_seconds_bucket", "0.5"] == 1
    assert found["gatewatch_commit_duration_seconds_count",] == 2


def test_what_is_so_now(board: Board) -> None:
    status = board.status
    status.findings = {"critical": 2, "low": 1}
    status.watermark = NOW - timedelta(seconds=42)
    status.published_at = NOW - timedelta(seconds=7)
    status.committed_at = START
    status.ledger_bytes, status.ledger_chunks = 5_000, 12
    status.sources = {HOSTILE: "up", "kafka:t": "trouble"}
    status.away = frozenset({"kafka:t"})
    status.unreadable = {HOSTILE: 2, "kafka:t": 0}
    status.lag = {HOSTILE: 99, "kafka:t": 3}
    found = board.samples()
    assert found["gatewatch_open_findings", "critical"] == 2
    assert found["gatewatch_open_findings", "high"] == 0
    assert found["gatewatch_watermark_delay_seconds",] == 42
    assert found["gatewatch_snapshot_age_seconds",] == 7
    assert found["gatewatch_last_commit_timestamp_seconds",] == 1_780_480_800  # 2026-06-03T10:00:00Z
    assert (found["gatewatch_ledger_size_bytes",], found["gatewatch_ledger_chunks",]) == (5_000, 12)
    assert found["gatewatch_source_up", "kafka:t"] == 0
    assert found["gatewatch_source_trouble", "kafka:t"] == 1
    assert found["gatewatch_source_unreadable_files", HOSTILE.encode("utf-8", "backslashreplace").decode()] == 2
    assert ("gatewatch_source_unreadable_files", "kafka:t") not in found
    assert found["gatewatch_source_lag_messages", "kafka:t"] == 3
    assert ("gatewatch_source_lag_bytes", "kafka:t") not in found


def test_a_source_of_which_a_part_cannot_be_read_is_up(board: Board) -> None:
    """One broken file for ever must not hide that the others stop, nor page somebody every night."""
    board.status.sources = {HOSTILE: "trouble", "kafka:t": "stopped"}
    found = board.samples()
    label = HOSTILE.encode("utf-8", "backslashreplace").decode()
    assert (found["gatewatch_source_up", label], found["gatewatch_source_trouble", label]) == (1, 1)
    assert (found["gatewatch_source_up", "kafka:t"], found["gatewatch_source_trouble", "kafka:t"]) == (0, 0)


def test_a_hostile_name_of_a_file_is_one_label_value(board: Board) -> None:
    """Quotes, backslashes, newlines, bytes that are no UTF-8: nothing of it ends the label."""
    board.status.sources = {HOSTILE: "up"}
    assert board.samples()["gatewatch_source_up", 'jsonl:a"b\\c\nd\\udcff'] == 1


def test_what_is_not_known_is_left_out(board: Board) -> None:
    """No watermark: nothing is awaited. A 0 would look like a perfect one, and would page nobody."""
    names = {key[0] for key in board.samples()}
    assert "gatewatch_watermark_delay_seconds" not in names
    assert "gatewatch_snapshot_age_seconds" not in names
    assert "gatewatch_last_commit_timestamp_seconds" not in names


def test_names_follow_the_conventions_of_prometheus(board: Board) -> None:
    """Base units, `_total` on counters and only there, a help text, one prefix."""
    _, text, headers = board.ask("/metrics")
    assert headers["Content-Type"].startswith("text/plain")
    families = [family for family in text_string_to_metric_families(text) if not family.name.startswith("process_")]
    assert len(families) > 15
    for family in families:
        assert re.fullmatch("gatewatch_[a-z_]+", family.name), family.name
        assert family.documentation.endswith("."), family.name
        assert not re.search("_(ms|millis|minutes|kb|mb|percent)$", family.name), family.name
        assert family.type != "unknown", family.name
        if family.type == "histogram":
            assert family.name.endswith("_seconds")
        assert ("_total" in {sample.name[-6:] for sample in family.samples}) == (
            family.type == "counter" and bool(family.samples)
        ), family.name


def test_openmetrics_for_who_asks_for_it(board: Board) -> None:
    _, text, headers = board.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


def test_health(board: Board) -> None:
    """200 while it works or may work again by itself, 503 when a person is needed; the reasons in words."""
    status = board.status
    code, text, headers = board.ask("/healthz")
    assert (code, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(text)["status"] == "ok"
    assert json.loads(text)["snapshot_age_seconds"] is None
    status.published_at = NOW - timedelta(seconds=9)
    status.begin("source", "kafka:t: the broker does not answer", NOW, failing=False)
    code, text, _ = board.ask("/healthz")
    assert (code, json.loads(text)["status"], json.loads(text)["snapshot_age_seconds"]) == (200, "degraded", 9.0)
    assert board.samples()["gatewatch_health",] == 0.5
    status.begin("writing", "no space left", NOW, failing=True)
    code, text, _ = board.ask("/healthz")
    assert (code, json.loads(text)["status"]) == (503, "failing")
    assert set(json.loads(text)["reasons"]) == {"kafka:t: the broker does not answer", "no space left"}
    status.over("writing")
    status.over("source")
    assert board.ask("/healthz")[0] == 200


def test_a_loop_that_hangs_is_seen(board: Board) -> None:
    """The server answers from a thread of its own, so that it can say so."""
    board.status.step = ("writing lines", NOW - timedelta(minutes=11))
    code, text, _ = board.ask("/healthz")
    assert (code, json.loads(text)["reasons"]) == (503, ["writing lines has taken more than 10 minutes"])
    board.status.step = ("judging", NOW - timedelta(minutes=11))
    code, text, _ = board.ask("/healthz")
    assert (code, json.loads(text)["status"]) == (200, "degraded")
    board.status.step = ("verifying", NOW - timedelta(hours=5))
    assert json.loads(board.ask("/healthz")[1])["status"] == "ok"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_it_only_reads(method: str, board: Board) -> None:
    code, _, headers = board.ask("/metrics", method)
    assert (code, headers["Allow"]) == (405, "GET, HEAD")


def test_head_is_the_header_alone(board: Board) -> None:
    code, text, headers = board.ask("/metrics", "HEAD")
    assert (code, text) == (200, "")
    assert int(headers["Content-Length"]) > 1_000


@pytest.mark.parametrize(
    ("path", "code"), [("/", 404), ("/metrics/", 404), ("/healthz?verbose=1", 200), ("/../etc/passwd", 404)]
)
def test_other_paths(path: str, code: int, board: Board) -> None:
    found, _, headers = board.ask(path)
    assert found == code
    assert headers["Server"] == "gatewatch"


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("localhost:9464", 200),
        ("127.0.0.1", 200),
        ("[::1]:9464", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:9464", 403),
        ("", 403),
    ],
)
def test_a_name_that_somebody_points_at_loopback_is_not_answered(host: str, code: int, board: Board) -> None:
    """So a page in a browser of this machine cannot read the metrics through a name of its own."""
    assert board.ask("/metrics", Host=host)[0] == code


def exchange(board: Board, sent: bytes) -> bytes:
    """What comes back on a connection until the server ends it."""
    with socket.create_connection(board.address, timeout=30) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(sent)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65_536):
                found += piece
        return found


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"x%d: y\r\n" % number for number in range(200)) + b"\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(sent: bytes, board: Board) -> None:
    """Too long, too many headers, TLS on a plain port, nothing: no answer, or one that refuses; then it goes on."""
    assert not exchange(board, sent).startswith(b"HTTP/1.0 200")
    assert board.ask("/healthz")[0] == 200


def test_a_client_that_says_nothing_is_cut_off(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that goes on saying little, since the time is that of the whole connection."""
    monkeypatch.setattr(metrics_server, "_DEADLINE_SECONDS", 0.2)
    assert exchange(board, b"GET /metrics HTTP/1.1\r\n") == b""
    with socket.create_connection(board.address, timeout=30) as dribbling, contextlib.suppress(OSError):
        while True:
            dribbling.sendall(b"x")


def test_clients_that_say_nothing_keep_nobody_out(board: Board) -> None:
    """Sixteen connections of any local process made a probe fail, and a supervisor restart the service."""
    with contextlib.ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(socket.create_connection(board.address, timeout=30))
        assert board.ask("/healthz")[0] == 200


def test_a_client_is_cut_off_long_before_its_deadline_when_it_says_nothing(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_server, "_DEADLINE_SECONDS", 1_000.0)
    assert exchange(board, b"GET /metrics HTTP/1.1\r\n") == b""


def test_too_many_clients_do_not_take_the_threads(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those over the limit are turned away at once; when the others are gone, it answers again."""
    monkeypatch.setattr(metrics_server._Handler, "timeout", 30.0)
    with contextlib.ExitStack() as stack:
        for _ in range(metrics_server._AT_A_TIME):
            connection = stack.enter_context(socket.create_connection(board.address, timeout=30))
            connection.sendall(b"GET /metrics HTTP/1.1\r\n")
        refused = exchange(board, b"")
        assert refused == b""
    while True:
        with contextlib.suppress(OSError):
            if board.ask("/healthz")[0] == 200:
                break


def test_a_port_in_use_is_one_line(board: Board) -> None:
    with (
        pytest.raises(OperationError) as caught,
        serving(board.address, board.metrics.registry, dict, allow_remote=False),
    ):
        raise AssertionError("served")
    assert str(caught.value) == (
        f"cannot serve metrics on 127.0.0.1:{board.address[1]} (address already in use); choose another address with "
        'listen in [metrics], or "" for none'
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "gatewatch.example"])  # noqa: S104 - refused
def test_other_machines_only_when_that_is_meant(host: str, board: Board) -> None:
    with (
        pytest.raises(InputError, match="can be reached from other machines"),
        serving((host, 0), board.metrics.registry, dict, allow_remote=False),
    ):
        raise AssertionError("served")


def test_allowed_for_all_any_name_is_answered(board: Board) -> None:
    with serving(("0.0.0.0", 0), board.metrics.registry, lambda: {"status": "ok"}, allow_remote=True) as server:  # noqa: S104
        remote = Board(server, board.status, board.metrics)
        remote.address = ("127.0.0.1", remote.address[1])
        assert remote.ask("/healthz", Host="gatewatch.example")[0] == 200
