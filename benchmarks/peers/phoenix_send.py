"""Tool calls as spans to an OTLP/HTTP endpoint of Arize Phoenix. Prints the seconds until they can be queried.

    phoenix_send.py http://127.0.0.1:6006 phoenix.db events.jsonl 512

The requests are made before the clock starts, 512 spans each, as many as OpenTelemetry's own exporter batches. They
are sent one after the other; the clock stops when the last span is in the database that the server reads from.
"""

import hashlib
import http.client
import json
import sqlite3
import sys
import time
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # type: ignore[import-not-found, unused-ignore]
    ExportTraceServiceRequest,
)

WARM = 100
"""Spans sent before the clock starts: a server that runs has its tables, project and statements ready."""

PATIENCE_S = 600


def main() -> None:
    """Send once."""
    url, database, path, batch = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    with open(path, "rb") as lines:  # noqa: PTH123 - nothing of this folder needs more of a path than to open it
        calls = [json.loads(line) for line in lines]
    warm = [_request(calls[:WARM])]
    rest = iter(calls[WARM:])
    requests = []
    while some := list(islice(rest, batch)):
        requests.append(_request(some))
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    _send(connection, warm)
    _await(database, WARM)
    begin = time.perf_counter()
    _send(connection, requests)
    sent = time.perf_counter() - begin
    _await(database, len(calls))
    print(json.dumps({"seconds": time.perf_counter() - begin, "sent": sent, "spans": len(calls) - WARM}))


def _send(connection: http.client.HTTPConnection, requests: list[bytes]) -> None:
    for body in requests:
        while True:
            connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            told = answer.read()
            if answer.status < 300:
                break
            if answer.status not in (429, 503):  # these two ask to come again
                raise SystemExit(f"Phoenix answered {answer.status}: {told[:200]!r}")
            time.sleep(0.05)


def _await(database: str, spans: int) -> None:
    """Wait until so many spans are there; none is ever deleted, so that the highest number is how many there are."""
    give_up = time.monotonic() + PATIENCE_S
    while True:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30) as con:
            ((there,),) = con.execute("SELECT coalesce(max(id), 0) FROM spans").fetchall()
        con.close()
        if there >= spans:
            return
        if time.monotonic() > give_up:
            raise SystemExit(f"Phoenix has {there:,} of {spans:,} spans after {PATIENCE_S} s")
        time.sleep(0.02)


def _request(calls: list[dict[str, Any]]) -> bytes:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for call in calls:
        span = spans.add()
        span.trace_id = hashlib.md5(call["run_id"].encode(), usedforsecurity=False).digest()
        span.span_id = hashlib.md5(call["event_id"].encode(), usedforsecurity=False).digest()[:8]
        span.name = call["tool"]
        start = int(datetime.fromisoformat(call["ts"]).timestamp() * 1e6) * 1000
        span.start_time_unix_nano = start
        span.end_time_unix_nano = start + call["duration_ms"] * 1_000_000
        span.status.code = 1 if call["outcome"] == "success" else 2
        _attribute(span, "openinference.span.kind", "TOOL")
        _attribute(span, "tool.name", call["tool"])
        for name, value in call.items():
            if name not in ("ts", "tool"):
                _attribute(span, f"gatewatch.{name}", value)
    return bytes(request.SerializeToString())


def _attribute(span: Any, name: str, value: Any) -> None:
    if isinstance(value, dict):
        for inner, one in value.items():
            _attribute(span, f"{name}.{inner}", one)
        return
    found = span.attributes.add()
    found.key = name
    if isinstance(value, int):
        found.value.int_value = value
    elif isinstance(value, float):
        found.value.double_value = value
    else:
        found.value.string_value = value


if __name__ == "__main__":
    main()
