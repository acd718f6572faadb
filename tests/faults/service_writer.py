"""Writes the lines of a feed as services do, a part at a time: to a file that is rotated, and to a Kafka topic.

    python service_writer.py FOLDER [BOOTSTRAP]

FOLDER holds `lines` (one on a line). Each line on standard input asks for the next so many lines, and is answered when
they are written; some go to `in/feed.jsonl`, some to the topic `feed`, some to both. The end of standard input ends it.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from kafka import KafkaProducer

FOLDER = Path(sys.argv[1])
ROTATED_AT = 30_000


def to_file(content: bytes) -> None:
    """Append, in two writes now and then; rotate a file that has become large."""
    feed = FOLDER / "in" / "feed.jsonl"
    handle = os.open(feed, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    middle = len(content) // 2 if content[:1] == b"{" and len(content) % 7 == 0 else 0
    if middle:
        os.write(handle, content[:middle])
        time.sleep(0.02)
    os.write(handle, content[middle:])
    size = os.fstat(handle).st_size
    os.close(handle)
    if size > ROTATED_AT:
        feed.rename(feed.with_name(f"feed-{time.time_ns()}.jsonl"))


def main() -> None:
    """See the module's docstring."""
    chance = random.Random(7)
    producer = KafkaProducer(bootstrap_servers=sys.argv[2], acks="all") if len(sys.argv) > 2 else None
    lines = iter((FOLDER / "lines").read_bytes().splitlines())
    for order in sys.stdin:
        for _ in range(int(order)):
            line = next(lines, None)
            if line is None:
                break
            where = chance.choice(("file", "topic", "both")) if producer else "file"
            if where != "topic":
                to_file(line + b"\n")
            if where != "file" and producer:
                producer.send("feed", line, partition=chance.randrange(2))
            if chance.random() < 0.02:
                time.sleep(0.05)
        if producer:
            producer.flush()
        sys.stdout.write("written\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
