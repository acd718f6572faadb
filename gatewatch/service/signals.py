"""What the operating system tells the service: stop, stop at once, read the policy again.

Python runs a handler only between two instructions of the main thread, which may be deep in a long query. So a thread
of its own reads what the C handler writes into a pipe, and a second signal ends the process whatever it does.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event, Thread

_STOP = (signal.SIGTERM, signal.SIGINT)
_HANDLED = (*_STOP, signal.SIGHUP)


@dataclass(slots=True)
class Orders:
    """What the service has been told; set by other threads, read by the loop."""

    stop: Event = field(default_factory=Event)
    reload: Event = field(default_factory=Event)
    by: str = ""
    """Name of the signal that said stop."""


@contextlib.contextmanager
def obeying(orders: Orders, at_once: Callable[[str], None]) -> Iterator[None]:
    """Turn signals into orders for as long as the block runs; call it in the main thread.

    The second signal to stop calls `at_once` with its name and ends the process with 128 + its number, as if it had
    not been handled: what is not committed is read again by the next start.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    former = {number: signal.signal(number, lambda *_: None) for number in _HANDLED}
    # A full pipe only means that enough signals are waiting to be read.
    former_fd = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    thread = Thread(target=_obey, args=(reader, orders, at_once), name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former_fd)
        for number, handler in former.items():
            signal.signal(number, handler)
        os.close(writer)  # which ends the thread
        thread.join()
        os.close(reader)


def _obey(reader: int, orders: Orders, at_once: Callable[[str], None]) -> None:
    while numbers := os.read(reader, 64):
        for number in numbers:
            if number == signal.SIGHUP:
                orders.reload.set()
            elif number in _STOP and orders.stop.is_set():
                at_once(signal.Signals(number).name)
                os._exit(128 + number)
            elif number in _STOP:
                orders.by = signal.Signals(number).name
                orders.stop.set()
