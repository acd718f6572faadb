"""Signals become orders at once, whatever the main thread does. Real processes, since a signal is for a whole one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.gatewatch.terminal import ROOT

BUSY = """
import sys, time
import duckdb
from gatewatch.service.signals import Orders, obeying

orders = Orders()
with obeying(orders, lambda name: print("at once", name, flush=True)):
    print("ready", flush=True)
    if sys.argv[1] == "query":
        duckdb.sql("SELECT count(*) FROM range(10000000000000) AS a(x) WHERE hash(x) = 7").fetchall()
    orders.stop.wait()
    print("stop", orders.by, orders.reload.is_set(), flush=True)
print("over", flush=True)
"""


def busy(how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, how], cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_is_an_order_and_so_is_hup(number: signal.Signals) -> None:
    with busy("wait") as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(number)
        assert process.stdout is not None
        assert process.stdout.read() == f"stop {number.name} True\nover\n"
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_second_ends_the_process_in_the_middle_of_a_query(number: signal.Signals, code: int) -> None:
    """Python itself would wait for the query, which takes an hour."""
    with busy("query") as process:
        assert process.stdout is not None
        while process.poll() is None:  # two of one kind may arrive as one
            process.send_signal(number)
        assert process.stdout.read() == f"at once {number.name}\n"
    assert process.returncode == code
