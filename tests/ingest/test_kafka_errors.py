"""Every exception that can come out of kafka-python means something for us, on purpose."""

from __future__ import annotations

import gzip
import inspect
import socket
import ssl
import struct
import zlib

import kafka.errors
import pytest
import snappy
import zstandard
from kafka.consumer.fetcher import RecordTooLargeError

from ingest.sources.kafka.errors import NAMES, Kind, fault_of

CLASSES = sorted(
    {one for one in vars(kafka.errors).values() if inspect.isclass(one) and issubclass(one, BaseException)},
    key=lambda one: one.__name__,
)

FOREIGN = {
    OSError: Kind.PASSING,
    ConnectionResetError: Kind.PASSING,
    ConnectionRefusedError: Kind.PASSING,
    BrokenPipeError: Kind.PASSING,
    TimeoutError: Kind.PASSING,
    socket.gaierror: Kind.PASSING,
    FileNotFoundError: Kind.REFUSED,
    PermissionError: Kind.REFUSED,
    IsADirectoryError: Kind.REFUSED,
    ssl.SSLError: Kind.REFUSED,
    ssl.SSLCertVerificationError: Kind.REFUSED,
    ssl.SSLEOFError: Kind.PASSING,
    ssl.SSLZeroReturnError: Kind.PASSING,
    ssl.SSLSyscallError: Kind.PASSING,
    ssl.SSLWantReadError: Kind.PASSING,
    ssl.SSLWantWriteError: Kind.PASSING,
    ValueError: Kind.CORRUPT,
    UnicodeError: Kind.CORRUPT,
    TypeError: Kind.CORRUPT,
    KeyError: Kind.CORRUPT,
    IndexError: Kind.CORRUPT,
    OverflowError: Kind.CORRUPT,
    EOFError: Kind.CORRUPT,
    AttributeError: Kind.CORRUPT,
    RuntimeError: Kind.CORRUPT,
    NotImplementedError: Kind.REFUSED,
    struct.error: Kind.CORRUPT,
    zlib.error: Kind.CORRUPT,
    gzip.BadGzipFile: Kind.CORRUPT,
    snappy.UncompressError: Kind.CORRUPT,
    zstandard.ZstdError: Kind.CORRUPT,
    RecordTooLargeError: Kind.CORRUPT,
    MemoryError: Kind.UNEXPECTED,
    AssertionError: Kind.UNEXPECTED,
}


def test_every_class_of_kafka_python_is_mapped_by_its_own_name() -> None:
    assert len(CLASSES) >= 125
    assert {f"{one.__module__}.{one.__name__}" for one in CLASSES} <= NAMES
    stale = {name for name in NAMES if name.startswith("kafka.errors.")} - {
        f"kafka.errors.{one.__name__}" for one in CLASSES
    }
    assert stale == set()


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_what_a_class_of_kafka_python_means(one: type[BaseException]) -> None:
    """What the broker calls retriable passes by itself, except where a reader has no business with it."""
    error = one({}) if one is kafka.errors.LogTruncationError else one("it said so")
    fault = fault_of(error)
    assert fault.cause
    assert "\n" not in fault.sentence
    if issubclass(one, kafka.errors.RetriableError):
        assert fault.kind in (Kind.PASSING, Kind.UNEXPECTED)
    if issubclass(one, kafka.errors.AuthorizationError):
        assert fault.kind is Kind.REFUSED
    if fault.kind is Kind.REFUSED:
        assert fault.fix
        assert "it said so" not in fault.sentence  # it could be a secret


@pytest.mark.parametrize("one", FOREIGN, ids=lambda one: one.__name__)
def test_what_other_exceptions_mean(one: type[BaseException]) -> None:
    fault = fault_of(one("it said so"))
    assert fault.kind is FOREIGN[one]
    assert fault.cause


def test_places_and_damage() -> None:
    lost = [kafka.errors.OffsetOutOfRangeError({}), kafka.errors.LogTruncationError({})]
    assert {fault_of(error).kind for error in lost} == {Kind.LOST}
    assert fault_of(kafka.errors.CorruptRecordError("at offset 7 failed crc check")).kind is Kind.CORRUPT


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", Kind.REFUSED, "the broker's certificate is not"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)", Kind.REFUSED, "TLS with the broker failed"),
        ("EOF occurred in violation of protocol (_ssl.c:1006)", Kind.PASSING, "the broker ended the TLS handshake"),
        ("[Errno 104] Connection reset by peer", Kind.PASSING, "the broker cannot be reached"),
    ],
)
def test_a_failed_handshake_is_told_apart_by_its_text(text: str, kind: Kind, cause: str) -> None:
    """kafka-python makes one class of all of them."""
    fault = fault_of(kafka.errors.KafkaConnectionError(f"Handshake failed: {text}"))
    assert fault.kind is kind
    assert fault.cause.startswith(cause)


def test_an_error_code_of_a_newer_broker() -> None:
    assert fault_of(kafka.errors.for_code(9999)("new")).kind is Kind.UNEXPECTED


def test_a_class_that_nobody_foresaw() -> None:
    class Strange(Exception):
        pass

    fault = fault_of(Strange("two\nlines"))
    assert fault.kind is Kind.UNEXPECTED
    assert "\n" not in fault.sentence
