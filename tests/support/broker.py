"""A real Apache Kafka for the tests: one broker in KRaft mode, on this machine only, started and killed as they like.

Listeners: plain text, and TLS with SASL for the users below (PLAIN, SCRAM) and for tokens without a
signature (OAUTHBEARER). The fixture is in
`tests/faults/conftest.py`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from ingest.sources.kafka.mending import direct_proxy
from tests.support.certificates import Certificates, make_certificates

PLAIN_USER = ("reader", "plain-Geheimnis-1")
SCRAM_USER = ("auditor", "scram-Geheimnis-2")
_JVM = ("-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_READY_SECONDS = 120

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_SSL://localhost:{secure}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/log
auto.create.topics.enable=true
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=1000
log.cleaner.backoff.ms=500
log.initial.task.delay.ms=500
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=200
controller.quorum.election.timeout.ms=200
controller.quorum.fetch.timeout.ms=500
num.network.threads=2
num.io.threads=4
ssl.keystore.type=PEM
ssl.keystore.location={certificate}
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    user_{plain_user}="{plain_password}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config=\
    org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
"""


class Broker:
    """One broker; `address` is where it is reached in plain text, `secure_address` with TLS and SASL."""

    def __init__(self, folder: Path, libraries: str) -> None:
        self.folder = folder
        self.certificates: Certificates = make_certificates(folder)
        self._libraries = libraries
        self._process: subprocess.Popen[bytes] | None = None
        plain, secure, controller = free_ports(3)
        self.address = f"127.0.0.1:{plain}"
        self.secure_address = f"localhost:{secure}"
        self._file = str(folder / "server.properties")
        Path(self._file).write_text(
            _PROPERTIES.format(
                plain=plain,
                secure=secure,
                controller=controller,
                folder=folder,
                certificate=self.certificates.broker,
                plain_user=PLAIN_USER[0],
                plain_password=PLAIN_USER[1],
            )
        )
        user, password = SCRAM_USER
        scram = [f"{name}=[name={user},password={password}]" for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")]
        options = [option for one in scram for option in ("--add-scram", one)]
        self._run("kafka.tools.StorageTool", "format", "-t", "Z2F0ZXdhdGNoLXRlc3RzMQ", "-c", self._file, *options)

    def _command(self, main: str, *arguments: str) -> list[str]:
        settings = (
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
        )
        return ["java", *_JVM, *settings, "-cp", self._libraries, main, *arguments]

    def _run(self, main: str, *arguments: str) -> None:
        done = subprocess.run(self._command(main, *arguments), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        """Start the broker on its ports and wait until it answers."""
        assert self._process is None
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", self._file), stdout=log, stderr=log, start_new_session=True
            )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until the broker answers a request for metadata."""
        host, port = self.address.split(":")
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            assert self._process is not None
            assert self._process.poll() is None, f"the broker ended: {self.log_tail()}"
            with contextlib.suppress(OSError, KafkaError):
                socket.create_connection((host, int(port)), 1).close()
                with self.admin(bootstrap_timeout_ms=5000) as admin:
                    if admin.describe_cluster()["brokers"]:
                        return
            assert time.monotonic() < deadline, f"the broker does not answer: {self.log_tail()}"
            time.sleep(0.1)

    def log_tail(self) -> str:
        """The end of the broker's log."""
        return (self.folder / "broker.log").read_text(errors="replace")[-3000:]

    def stop(self) -> None:
        """Let the broker end in order."""
        self.end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the broker (SIGKILL)."""
        self.end(signal.SIGKILL)

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the broker, if it runs, with a signal."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGCONT)
            os.killpg(process.pid, number)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def freeze(self) -> None:
        """Stop the broker's process without ending it: connections stay, answers do not come."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen broker go on."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT)

    def admin(self, **settings: Any) -> KafkaAdminClient:
        """An admin client, to be closed."""
        return KafkaAdminClient(bootstrap_servers=self.address, **settings)

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Create a topic and wait until it can be used; `configs` with `_` for `.`."""
        spelt = {key.replace("_", "."): value for key, value in configs.items()}
        topic = {"num_partitions": partitions, "replication_factor": 1, "configs": spelt}
        with self.admin() as admin:
            admin.create_topics({name: topic}, wait_for_metadata=True)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until it is gone."""
        with self.admin() as admin:
            admin.delete_topics([name])
            while name in admin.list_topics():
                time.sleep(0.05)

    def add_partitions(self, name: str, total: int) -> None:
        """Let a topic have `total` partitions."""
        with self.admin() as admin:
            admin.create_partitions({name: total})
            admin.wait_for_topics([name])

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Remove what is before an offset, as retention does."""
        with self.admin() as admin:
            admin.delete_records({TopicPartition(topic, partition): before})

    def topics(self) -> set[str]:
        """The names of all topics."""
        with self.admin() as admin:
            return set(admin.list_topics())

    def produce(
        self,
        topic: str,
        values: Sequence[bytes | None],
        partition: int = 0,
        keys: Sequence[bytes] | None = None,
        **settings: Any,
    ) -> None:
        """Send messages to a partition, in order, and wait until the broker has them."""
        settings = {"proxy_url": direct_proxy(), **settings}  # a broker may be away meanwhile
        with contextlib.closing(KafkaProducer(bootstrap_servers=self.address, **settings)) as producer:
            sent = [
                producer.send(topic, value, key=keys[index] if keys else b"key", partition=partition)
                for index, value in enumerate(values)
            ]
            producer.flush()
            for future in sent:
                future.get(300)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
