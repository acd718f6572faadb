"""What an exception on the way to Kafka means for us: one table for kafka-python's own and for what comes through it.

    PASSING     over by itself: a broker is away, a leader moves. Reading goes on at the same place
    LOST        the broker has not got the place any more at which reading was to go on: see `places`
    CORRUPT     bytes that cannot be decoded: tried again, partition by partition, then told with the offset
    REFUSED     stays until a person does something: login, permission, TLS, version, configuration
    UNEXPECTED  has no business here, or is a fault of a library: tried again with new connections, then told

A class is found by its own name, or by the nearest base class that the table names; a test holds the table against
every class of `kafka.errors`. kafka-python itself is not imported, so that naming an error costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ingest.sentences import short


class Kind(Enum):
    """What an exception means for reading on."""

    PASSING = "passing"
    LOST = "lost"
    CORRUPT = "corrupt"
    REFUSED = "refused"
    UNEXPECTED = "unexpected"


@dataclass(frozen=True, slots=True)
class Fault:
    """An exception in our terms; `cause` is a phrase, `fix` what helps, and neither holds a secret."""

    kind: Kind
    cause: str
    fix: str = ""

    @property
    def sentence(self) -> str:
        """Cause and fix on one line."""
        return f"{self.cause}: {self.fix}" if self.fix else self.cause


_PASSING = """
    RetriableError InvalidMetadataError Cancelled KafkaConnectionError CorrelationIdError KafkaTimeoutError
    MetadataEmptyBrokerList NodeNotReadyError UnknownBrokerIdError QuotaViolationError StaleMetadata
    TooManyInFlightRequests UnknownTopicOrPartitionError LeaderNotAvailableError NotLeaderForPartitionError
    RequestTimedOutError BrokerNotAvailableError ReplicaNotAvailableError StaleControllerEpochError
    NetworkExceptionError CoordinatorLoadInProgressError CoordinatorNotAvailableError NotCoordinatorError
    NotEnoughReplicasError NotEnoughReplicasAfterAppendError NotControllerError KafkaStorageError
    ReassignmentInProgressError FetchSessionIdNotFoundError InvalidFetchSessionEpochError ListenerNotFoundError
    FencedLeaderEpochError UnknownLeaderEpochError StaleBrokerEpochError OffsetNotAvailableError
    PreferredLeaderNotAvailableError EligibleLeadersNotAvailableError UnstableOffsetCommitError
    ThrottlingQuotaExceededError UnknownTopicIdError InconsistentTopicIdError FetchSessionTopicIdError
    NewLeaderElectedError OffsetMovedToTieredStorageError RebalanceInProgressError CommitFailedError
    IllegalGenerationError UnknownMemberIdError NonEmptyGroupError
"""
_LOST = "OffsetOutOfRangeError NoOffsetForPartitionError LogTruncationError PositionOutOfRangeError"
_CORRUPT = "CorruptRecordError InvalidRecordError"
_UNEXPECTED = """
    KafkaError KafkaProtocolError IllegalArgumentError IllegalStateError BrokerResponseError NoError UnknownError
    TransactionAbortedError InvalidFetchRequestError MessageSizeTooLargeError OffsetMetadataTooLargeError
    RecordListTooLargeError InvalidRequiredAcksError InconsistentGroupProtocolError InvalidSessionTimeoutError
    InvalidCommitOffsetSizeError InvalidTimestampError TopicAlreadyExistsError InvalidPartitionsError
    InvalidReplicationFactorError InvalidReplicationAssignmentError InvalidConfigurationError InvalidRequestError
    UnsupportedForMessageFormatError PolicyViolationError OutOfOrderSequenceNumberError DuplicateSequenceNumberError
    InvalidProducerEpochError InvalidTxnStateError InvalidProducerIdMappingError InvalidTransactionTimeoutError
    ConcurrentTransactionsError TransactionCoordinatorFencedError OperationNotAttemptedError LogDirNotFoundError
    UnknownProducerIdError DelegationTokenNotFoundError DelegationTokenOwnerMismatchError InvalidPrincipalTypeError
    GroupIdNotFoundError TopicDeletionDisabledError MemberIdRequiredError GroupMaxSizeReachedError
    FencedInstanceIdError ElectionNotNeededError NoReassignmentInProgressError GroupSubscribedToTopicError
    ProducerFencedError ResourceNotFoundError DuplicateResourceError UnacceptableCredentialError
    InconsistentVoterSetError InvalidUpdateVersionError FeatureUpdateFailedError SnapshotNotFoundError
    DuplicateBrokerRegistrationError BrokerIdNotRegisteredError InconsistentClusterIdError
    TransactionalIdNotFoundError IneligibleReplicaError FencedMemberEpochError UnreleasedInstanceIdError
    UnsupportedAssignorError StaleMemberEpochError UnknownControllerIdError UnknownSubscriptionIdError
    TelemetryTooLargeError InvalidRegistrationError TransactionAbortableError InvalidRecordStateError
    ShareSessionNotFoundError InvalidShareSessionEpochError FencedStateEpochError InvalidVoterKeyError
    DuplicateVoterError VoterNotFoundError
"""

_LOGIN = "check sasl_mechanism, sasl_username and sasl_password (or the OAuth token), and the user on the broker"
_PERMIT = "give this user the rights to read and describe the topics, and to commit for the group"
_VERSION = "use a broker of Apache Kafka 2.1 or newer"
_MECHANISM = "choose a sasl_mechanism that the broker's listener offers"
_LISTENER = "name a broker's listener for clients, and the security_protocol of that listener"
_CERTIFICATE = "check ssl_cafile, ssl_certfile, ssl_keyfile, and that the certificate is for the host that is named"

_REFUSED = {
    "AuthorizationError": ("the broker does not permit this", _PERMIT),
    "TopicAuthorizationFailedError": ("the broker does not permit reading the topic", _PERMIT),
    "GroupAuthorizationFailedError": ("the broker does not permit the consumer group", _PERMIT),
    "ClusterAuthorizationFailedError": ("the broker does not permit this on the cluster", _PERMIT),
    "TransactionalIdAuthorizationFailedError": ("the broker does not permit the transactional id", _PERMIT),
    "DelegationTokenAuthorizationFailedError": ("the broker does not permit the delegation token", _PERMIT),
    "SaslAuthenticationFailedError": ("the broker refused the login", _LOGIN),
    "DelegationTokenExpiredError": ("the delegation token has expired", _LOGIN),
    "DelegationTokenAuthDisabledError": ("the broker takes no delegation tokens", _LOGIN),
    "DelegationTokenRequestNotAllowedError": ("the broker takes no delegation tokens here", _LOGIN),
    "PrincipalDeserializationFailureError": ("the broker could not read who this user is", _LOGIN),
    "UnsupportedSaslMechanismError": ("the broker does not offer this sasl_mechanism", _MECHANISM),
    "IllegalSaslStateError": ("the broker did not expect this login", _LISTENER),
    "SecurityDisabledError": ("the broker has no access control switched on", _PERMIT),
    "UnsupportedVersionError": ("the broker's version cannot do what is asked", _VERSION),
    "IncompatibleBrokerVersion": ("the broker's version cannot do what is asked", _VERSION),
    "UnrecognizedBrokerVersion": ("the broker's version is not known", _VERSION),
    "UnsupportedCodecError": ("the compression of the messages is not known", "use gzip, snappy, lz4 or zstd"),
    "UnsupportedCompressionTypeError": ("the broker cannot send this compression", _VERSION),
    "InvalidTopicError": ("the broker does not accept the topic's name", "correct topics"),
    "InvalidGroupIdError": ("the broker does not accept the group's name", "correct group_id"),
    "KafkaConfigurationError": ("the client's options do not fit together", "correct the table [kafka]"),
    "InvalidReceiveError": ("what came from the broker's port is not Kafka in this protocol", _LISTENER),
    "MismatchedEndpointTypeError": ("the port belongs to a controller", _LISTENER),
    "UnsupportedEndpointTypeError": ("the port belongs to a controller", _LISTENER),
}  # fmt: skip

_TABLE: dict[str, tuple[Kind, str, str]] = {
    # What comes through kafka-python: sockets, TLS, files, and decoders of batches.
    "builtins.OSError": (Kind.PASSING, "", ""),
    "socket.gaierror": (Kind.PASSING, "the broker's name cannot be resolved", ""),
    "builtins.FileNotFoundError": (Kind.REFUSED, "a file of the table [kafka] does not exist", "correct its path"),
    "builtins.PermissionError": (Kind.REFUSED, "a file of the table [kafka] cannot be read", "let this user read it"),
    "builtins.IsADirectoryError": (Kind.REFUSED, "a path of the table [kafka] is a folder", "name a file"),
    "ssl.SSLError": (Kind.REFUSED, "TLS with the broker failed", _CERTIFICATE),
    "ssl.SSLCertVerificationError": (Kind.REFUSED, "the broker's certificate is not trusted", _CERTIFICATE),
    "ssl.SSLEOFError": (Kind.PASSING, "the broker ended the TLS handshake", ""),
    "ssl.SSLZeroReturnError": (Kind.PASSING, "the broker ended the TLS connection", ""),
    "ssl.SSLSyscallError": (Kind.PASSING, "the TLS connection broke", ""),
    "ssl.SSLWantReadError": (Kind.PASSING, "the TLS handshake did not end", ""),
    "ssl.SSLWantWriteError": (Kind.PASSING, "the TLS handshake did not end", ""),
    "builtins.Exception": (Kind.UNEXPECTED, "", ""),
    "builtins.NotImplementedError": (Kind.REFUSED, *_REFUSED["UnsupportedCodecError"]),
    **dict.fromkeys(
        (
            "builtins.ValueError", "builtins.TypeError", "builtins.LookupError", "builtins.ArithmeticError",
            "builtins.EOFError", "builtins.RuntimeError", "builtins.AttributeError", "struct.error", "zlib.error",
            "gzip.BadGzipFile", "snappy.snappy.UncompressError", "zstandard.backend_c.ZstdError",
            "kafka.consumer.fetcher.RecordTooLargeError",
        ),
        (Kind.CORRUPT, "a batch of messages cannot be decoded", ""),
    ),
}  # fmt: skip
_TABLE |= {
    f"kafka.errors.{name}": (kind, cause, "")
    for kind, names, cause in (
        (Kind.PASSING, _PASSING, ""),
        (Kind.LOST, _LOST, "the broker has not got the next message any more"),
        (Kind.CORRUPT, _CORRUPT, "a batch of messages is damaged"),
        (Kind.UNEXPECTED, _UNEXPECTED, ""),
    )
    for name in names.split()
}
_TABLE |= {f"kafka.errors.{name}": (Kind.REFUSED, *said) for name, said in _REFUSED.items()}

NAMES = frozenset(_TABLE)
"""Every class that is mapped by its own name."""

_TLS_TEXTS = (
    # kafka-python tells a failed handshake as a KafkaConnectionError with OpenSSL's text, and the class is lost.
    ("CERTIFICATE_VERIFY_FAILED", "ssl.SSLCertVerificationError"),
    ("certificate verify failed", "ssl.SSLCertVerificationError"),
    ("[SSL", "ssl.SSLError"),
    ("EOF occurred in violation of protocol", "ssl.SSLEOFError"),
)


def fault_of(error: BaseException) -> Fault:
    """What an exception means for us; a class that nobody foresaw is UNEXPECTED."""
    name = _known_name(error)
    kind, cause, fix = _TABLE[name]
    if kind is Kind.REFUSED or cause:
        return Fault(kind, cause, fix)
    # The text of an unknown or passing error says which broker; that of a refused login could say too much.
    text = short(str(error) or type(error).__name__, 160)
    return Fault(kind, f"the broker cannot be reached ({text})" if kind is Kind.PASSING else f"kafka: {text}")


def _known_name(error: BaseException) -> str:
    text = str(error)
    if "Handshake failed" in text or isinstance(error, OSError):
        for part, name in _TLS_TEXTS:
            if part in text:
                return name
    names = (f"{one.__module__}.{one.__qualname__}" for one in type(error).__mro__)
    return next((name for name in names if name in _TABLE), "builtins.Exception")
