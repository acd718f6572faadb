"""One message to a topic, for checkpoints: sent, and acknowledged by every replica that is in sync, or an error."""

from __future__ import annotations

import time

from ingest.errors import IngestError
from ingest.sources.kafka.clients import Client, ConnectError, open_admin, open_producer, topic_ids
from ingest.sources.kafka.settings import KafkaConnection


class PublishError(IngestError):
    """A message did not reach its topic; it may have, where the answer was lost, so a repetition can come twice."""


def send(connection: KafkaConnection, topic: str, key: bytes, value: bytes, timeout: float) -> None:
    """Send one message and wait up to about `timeout` seconds until all replicas in sync have it.

    The topic has to exist: it is never created. Raises PublishError, or SourceError for a file of the connection that
    cannot be read; both are one line without a secret.
    """
    deadline = time.monotonic() + timeout
    client: Client | None = None
    try:
        client = open_admin(connection)
        if topic not in topic_ids(client, [topic]):
            raise PublishError(f"nothing was sent to the Kafka topic {topic}: it does not exist, create it")
        client.close()
        left = max(1, int((deadline - time.monotonic()) * 1000))
        client = open_producer(connection, acks="all", max_block_ms=left, delivery_timeout_ms=max(left, 10_001))
        client.api.send(topic, value=value, key=key).get(max(deadline - time.monotonic(), 0.1))
    except IngestError:
        raise
    except ConnectError as error:
        raise PublishError(f"nothing was sent to the Kafka topic {topic}: {error.fault.sentence}") from None
    except Exception as error:
        said = client.blame(error).sentence if client is not None else type(error).__name__
        raise PublishError(f"the Kafka topic {topic} did not acknowledge a message: {said}") from None
    finally:
        if client is not None:
            client.close()
