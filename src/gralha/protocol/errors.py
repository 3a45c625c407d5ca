"""Kafka's error codes, and their exceptions.

    KafkaError                      an error of the protocol: `.code`, `.message`, `.retriable`
      OffsetOutOfRangeError         many codes have a class of their own;
      CorruptMessageError           for the others, `error_for` returns a plain KafkaError
      ...

An unknown code of a newer broker is a KafkaError, too, with the number as its code.
"""

from enum import IntEnum
from typing import ClassVar


class ErrorCode(IntEnum):
    """A code, its message for a person, and whether the same request may succeed later."""

    message: str
    retriable: bool

    def __new__(cls, code: int, message: str = "", retriable: bool = False) -> "ErrorCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.message = message
        member.retriable = retriable
        return member

    UNKNOWN_SERVER_ERROR = -1, "The broker failed in a way it did not expect"
    NONE = 0, "No error"
    OFFSET_OUT_OF_RANGE = (
        1,
        "The partition has no record at this offset: it is below the first or beyond the last one",
    )
    CORRUPT_MESSAGE = 2, "The record batch is damaged: its checksum, its size or its structure is wrong", True
    UNKNOWN_TOPIC_OR_PARTITION = 3, "The broker does not know this topic or partition", True
    INVALID_FETCH_SIZE = 4, "The fetch asks for an impossible number of bytes"
    LEADER_NOT_AVAILABLE = 5, "The partition has no leader at the moment", True
    NOT_LEADER_OR_FOLLOWER = (
        6,
        "The broker is not the leader of this partition, or has no replica of it",
        True,
    )
    REQUEST_TIMED_OUT = 7, "The request was not completed in time", True
    BROKER_NOT_AVAILABLE = 8, "The broker is not available"
    REPLICA_NOT_AVAILABLE = 9, "The broker has no such replica", True
    MESSAGE_TOO_LARGE = 10, "The record batch is larger than the topic allows (max.message.bytes)"
    STALE_CONTROLLER_EPOCH = 11, "The request comes from a controller that is no longer the active one"
    OFFSET_METADATA_TOO_LARGE = 12, "The metadata committed with the offset is longer than the broker allows"
    NETWORK_EXCEPTION = 13, "The connection broke before the answer came", True
    COORDINATOR_LOAD_IN_PROGRESS = 14, "The coordinator is still loading its state", True
    COORDINATOR_NOT_AVAILABLE = 15, "There is no coordinator at the moment", True
    NOT_COORDINATOR = 16, "Another broker is the coordinator", True
    INVALID_TOPIC_EXCEPTION = 17, "The topic's name is not allowed, or the topic must not be used like this"
    RECORD_LIST_TOO_LARGE = 18, "The record batch is larger than a log segment (segment.bytes)"
    NOT_ENOUGH_REPLICAS = (
        19,
        "Fewer replicas are in sync than min.insync.replicas asks for; nothing was written",
        True,
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        "The records are written, but to fewer replicas than min.insync.replicas asks for",
        True,
    )
    INVALID_REQUIRED_ACKS = 21, "acks must be 0, 1 or -1 (all)"
    ILLEGAL_GENERATION = 22, "The member's generation is not the group's"
    INCONSISTENT_GROUP_PROTOCOL = 23, "The member has no protocol in common with the rest of its group"
    INVALID_GROUP_ID = 24, "The group id is not allowed"
    UNKNOWN_MEMBER_ID = 25, "The group has no such member"
    INVALID_SESSION_TIMEOUT = 26, "The session timeout is outside the range that the broker allows"
    REBALANCE_IN_PROGRESS = 27, "The group is rebalancing: the member must join again"
    INVALID_COMMIT_OFFSET_SIZE = 28, "The offsets to commit are too large for one record"
    TOPIC_AUTHORIZATION_FAILED = 29, "Access to the topic is denied"
    GROUP_AUTHORIZATION_FAILED = 30, "Access to the group is denied"
    CLUSTER_AUTHORIZATION_FAILED = 31, "The operation on the cluster is denied"
    INVALID_TIMESTAMP = 32, "The record's timestamp is too far from the broker's clock"
    UNSUPPORTED_SASL_MECHANISM = 33, "The broker does not offer this SASL mechanism"
    ILLEGAL_SASL_STATE = 34, "The request does not fit the state of the SASL exchange"
    UNSUPPORTED_VERSION = 35, "The broker does not serve this version of the request"
    TOPIC_ALREADY_EXISTS = 36, "A topic with this name exists already"
    INVALID_PARTITIONS = 37, "The number of partitions is not valid"
    INVALID_REPLICATION_FACTOR = 38, "The replication factor is below 1 or above the number of brokers"
    INVALID_REPLICA_ASSIGNMENT = 39, "The assignment of replicas to brokers is not valid"
    INVALID_CONFIG = 40, "The configuration is not valid"
    NOT_CONTROLLER = 41, "This node is not the active controller", True
    INVALID_REQUEST = 42, "The request contradicts itself or lacks something; the broker's log may say more"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "The format of the stored records does not allow this request"
    POLICY_VIOLATION = 44, "A policy of the cluster forbids this"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "The producer's sequence number does not follow the last one"
    DUPLICATE_SEQUENCE_NUMBER = 46, "The producer's sequence number was used before"
    INVALID_PRODUCER_EPOCH = 47, "A producer with the same id and a newer epoch exists"
    INVALID_TXN_STATE = 48, "The transaction's state does not allow this operation"
    INVALID_PRODUCER_ID_MAPPING = 49, "The producer id does not belong to this transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, "The transaction timeout is larger than transaction.max.timeout.ms"
    CONCURRENT_TRANSACTIONS = 51, "Another operation on this transaction is still under way", True
    TRANSACTION_COORDINATOR_FENCED = 52, "A newer transaction coordinator has taken over"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "Access to the transactional id is denied"
    SECURITY_DISABLED = 54, "The cluster has no authorizer"
    OPERATION_NOT_ATTEMPTED = 55, "The operation was not tried, because another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, "The broker's disk failed", True
    LOG_DIR_NOT_FOUND = 57, "The broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, "The credentials are not accepted"
    UNKNOWN_PRODUCER_ID = 59, "The broker has no state of this producer id any more"
    REASSIGNMENT_IN_PROGRESS = 60, "The partition is being reassigned"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "Delegation tokens are switched off"
    DELEGATION_TOKEN_NOT_FOUND = 62, "There is no such delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "The delegation token belongs to someone else"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "This connection may not ask for delegation tokens"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "Access to the delegation token is denied"
    DELEGATION_TOKEN_EXPIRED = 66, "The delegation token has expired"
    INVALID_PRINCIPAL_TYPE = 67, "Principals of this type are not supported"
    NON_EMPTY_GROUP = 68, "The group still has members"
    GROUP_ID_NOT_FOUND = 69, "There is no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, "The broker has no such fetch session", True
    INVALID_FETCH_SESSION_EPOCH = 71, "The epoch of the fetch session is not the expected one", True
    LISTENER_NOT_FOUND = 72, "The partition's leader has no listener of this name", True
    TOPIC_DELETION_DISABLED = 73, "The cluster does not allow topics to be deleted (delete.topic.enable)"
    FENCED_LEADER_EPOCH = 74, "The request carries an older leader epoch than the broker's", True
    UNKNOWN_LEADER_EPOCH = 75, "The request carries a newer leader epoch than the broker's", True
    UNSUPPORTED_COMPRESSION_TYPE = 76, "The client cannot read the compression of these records"
    STALE_BROKER_EPOCH = 77, "The broker has registered again since"
    OFFSET_NOT_AVAILABLE = 78, "The new leader does not know its high watermark yet", True
    MEMBER_ID_REQUIRED = 79, "The member must join again with the id that it was given"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "The preferred leader is not available", True
    GROUP_MAX_SIZE_REACHED = 81, "The group has as many members as it may have"
    FENCED_INSTANCE_ID = 82, "Another member has joined with the same instance id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "No replica of the partition may become leader", True
    ELECTION_NOT_NEEDED = 84, "The partition has the right leader already", True
    NO_REASSIGNMENT_IN_PROGRESS = 85, "The partition is not being reassigned"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "The group consumes this topic, so its offsets cannot be deleted"
    INVALID_RECORD = 87, "The broker refuses the record: it breaks a rule of its topic or of the format"
    UNSTABLE_OFFSET_COMMIT = 88, "A transaction that commits these offsets is still open", True
    THROTTLING_QUOTA_EXCEEDED = 89, "The quota of this client is used up", True
    PRODUCER_FENCED = 90, "A newer producer uses the same transactional id"
    RESOURCE_NOT_FOUND = 91, "There is no such resource"
    DUPLICATE_RESOURCE = 92, "The request names the same resource twice"
    UNACCEPTABLE_CREDENTIAL = 93, "The credential does not meet the requirements"
    INCONSISTENT_VOTER_SET = 94, "Sender and receiver do not have the same voters"
    INVALID_UPDATE_VERSION = 95, "The update does not start from the current version"
    FEATURE_UPDATE_FAILED = 96, "The features could not be changed"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "The principal of a forwarded request cannot be read"
    SNAPSHOT_NOT_FOUND = 98, "There is no such snapshot"
    POSITION_OUT_OF_RANGE = 99, "The position is outside the snapshot"
    UNKNOWN_TOPIC_ID = 100, "The broker does not know a topic with this id", True
    DUPLICATE_BROKER_REGISTRATION = 101, "Another broker uses this id"
    BROKER_ID_NOT_REGISTERED = 102, "No broker is registered with this id"
    INCONSISTENT_TOPIC_ID = 103, "The topic's id in the request is not the one in the log", True
    INCONSISTENT_CLUSTER_ID = 104, "The request is meant for another cluster"
    TRANSACTIONAL_ID_NOT_FOUND = 105, "There is no such transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "The fetch session mixes topic names and topic ids", True
    INELIGIBLE_REPLICA = 107, "A replica in the new ISR may not be in it"
    NEW_LEADER_ELECTED = 108, "The change was made, and the partition has a new leader"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "The records at this offset are in tiered storage"
    FENCED_MEMBER_EPOCH = 110, "The member's epoch is fenced: it must give up its partitions and join again"
    UNRELEASED_INSTANCE_ID = 111, "Another member still holds this instance id"
    UNSUPPORTED_ASSIGNOR = 112, "The group does not have this assignor"
    STALE_MEMBER_EPOCH = 113, "The member's epoch is old: it must heartbeat first"
    MISMATCHED_ENDPOINT_TYPE = 114, "The request was sent to an endpoint of the wrong kind"
    UNSUPPORTED_ENDPOINT_TYPE = 115, "Endpoints of this kind are not supported"
    UNKNOWN_CONTROLLER_ID = 116, "There is no controller with this id"
    UNKNOWN_SUBSCRIPTION_ID = 117, "The telemetry subscription is unknown or out of date"
    TELEMETRY_TOO_LARGE = 118, "The telemetry is larger than the broker accepts"
    INVALID_REGISTRATION = 119, "The controller refuses the broker's registration"
    TRANSACTION_ABORTABLE = 120, "The transaction failed; after an abort its id can be used again"
    INVALID_RECORD_STATE = 121, "The record is in a state that does not allow this acknowledgement"
    SHARE_SESSION_NOT_FOUND = 122, "The broker has no such share session", True
    INVALID_SHARE_SESSION_EPOCH = 123, "The epoch of the share session is not the expected one", True
    FENCED_STATE_EPOCH = 124, "The state epoch of the share group is not the expected one"
    INVALID_VOTER_KEY = 125, "The voter's key is not that of the receiver"
    DUPLICATE_VOTER = 126, "The voter is in the set already"
    VOTER_NOT_FOUND = 127, "The voter is not in the set"
    INVALID_REGULAR_EXPRESSION = 128, "The regular expression is not valid"
    REBOOTSTRAP_REQUIRED = (
        129,
        "The client's metadata is out of date: it must start again from its bootstrap servers",
    )
    STREAMS_INVALID_TOPOLOGY = 130, "The topology is not valid"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "The epoch of the topology is not valid"
    STREAMS_TOPOLOGY_FENCED = 132, "The epoch of the topology is out of date"
    SHARE_SESSION_LIMIT_REACHED = 133, "The broker holds as many share sessions as it may", True


_CLASSES: dict[int, type["KafkaError"]] = {}


class KafkaError(Exception):
    """An error that has a code in Kafka's protocol."""

    CODE: ClassVar[int] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str | None = None, code: int | None = None) -> None:
        self.code: int = self.CODE if code is None else code
        self.message: str = error_message(self.code) if message is None else message
        super().__init__(self.message)

    def __init_subclass__(cls) -> None:
        _CLASSES.setdefault(cls.CODE, cls)  # a subclass with the same code does not replace it

    @property
    def retriable(self) -> bool:
        """True if the same request may succeed later."""
        return isinstance(self.code, ErrorCode) and self.code.retriable


def error_name(code: int) -> str:
    """Kafka's name of a code. An unknown code is named by its number."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"ERROR_{code}"


def error_message(code: int) -> str:
    """The message of a code for a person."""
    try:
        return ErrorCode(code).message
    except ValueError:
        return f"The broker answered with an unknown error code: {code}"


def error_for(code: int, message: str | None = None) -> KafkaError:
    """The exception for a code."""
    try:
        code = ErrorCode(code)
    except ValueError:
        return KafkaError(message, code)
    return _CLASSES.get(code, KafkaError)(message, code)


class UnknownServerError(KafkaError):
    CODE = ErrorCode.UNKNOWN_SERVER_ERROR


class OffsetOutOfRangeError(KafkaError):
    CODE = ErrorCode.OFFSET_OUT_OF_RANGE


class CorruptMessageError(KafkaError):
    CODE = ErrorCode.CORRUPT_MESSAGE


class UnknownTopicOrPartitionError(KafkaError):
    CODE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class InvalidFetchSizeError(KafkaError):
    CODE = ErrorCode.INVALID_FETCH_SIZE


class LeaderNotAvailableError(KafkaError):
    CODE = ErrorCode.LEADER_NOT_AVAILABLE


class NotLeaderOrFollowerError(KafkaError):
    CODE = ErrorCode.NOT_LEADER_OR_FOLLOWER


class RequestTimedOutError(KafkaError):
    CODE = ErrorCode.REQUEST_TIMED_OUT


class ReplicaNotAvailableError(KafkaError):
    CODE = ErrorCode.REPLICA_NOT_AVAILABLE


class MessageTooLargeError(KafkaError):
    CODE = ErrorCode.MESSAGE_TOO_LARGE


class OffsetMetadataTooLargeError(KafkaError):
    CODE = ErrorCode.OFFSET_METADATA_TOO_LARGE


class CoordinatorLoadInProgressError(KafkaError):
    CODE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorNotAvailableError(KafkaError):
    CODE = ErrorCode.COORDINATOR_NOT_AVAILABLE


class NotCoordinatorError(KafkaError):
    CODE = ErrorCode.NOT_COORDINATOR


class InvalidTopicError(KafkaError):
    CODE = ErrorCode.INVALID_TOPIC_EXCEPTION


class RecordListTooLargeError(KafkaError):
    CODE = ErrorCode.RECORD_LIST_TOO_LARGE


class NotEnoughReplicasError(KafkaError):
    CODE = ErrorCode.NOT_ENOUGH_REPLICAS


class NotEnoughReplicasAfterAppendError(KafkaError):
    CODE = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


class InvalidRequiredAcksError(KafkaError):
    CODE = ErrorCode.INVALID_REQUIRED_ACKS


class IllegalGenerationError(KafkaError):
    CODE = ErrorCode.ILLEGAL_GENERATION


class InconsistentGroupProtocolError(KafkaError):
    CODE = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class InvalidGroupIdError(KafkaError):
    CODE = ErrorCode.INVALID_GROUP_ID


class UnknownMemberIdError(KafkaError):
    CODE = ErrorCode.UNKNOWN_MEMBER_ID


class InvalidSessionTimeoutError(KafkaError):
    CODE = ErrorCode.INVALID_SESSION_TIMEOUT


class RebalanceInProgressError(KafkaError):
    CODE = ErrorCode.REBALANCE_IN_PROGRESS


class InvalidTimestampError(KafkaError):
    CODE = ErrorCode.INVALID_TIMESTAMP


class UnsupportedVersionError(KafkaError):
    CODE = ErrorCode.UNSUPPORTED_VERSION


class TopicAlreadyExistsError(KafkaError):
    CODE = ErrorCode.TOPIC_ALREADY_EXISTS


class InvalidPartitionsError(KafkaError):
    CODE = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactorError(KafkaError):
    CODE = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignmentError(KafkaError):
    CODE = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class InvalidConfigError(KafkaError):
    CODE = ErrorCode.INVALID_CONFIG


class NotControllerError(KafkaError):
    CODE = ErrorCode.NOT_CONTROLLER


class InvalidRequestError(KafkaError):
    CODE = ErrorCode.INVALID_REQUEST


class UnsupportedForMessageFormatError(KafkaError):
    CODE = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


class PolicyViolationError(KafkaError):
    CODE = ErrorCode.POLICY_VIOLATION


class OutOfOrderSequenceNumberError(KafkaError):
    CODE = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class DuplicateSequenceNumberError(KafkaError):
    CODE = ErrorCode.DUPLICATE_SEQUENCE_NUMBER


class InvalidProducerEpochError(KafkaError):
    CODE = ErrorCode.INVALID_PRODUCER_EPOCH


class InvalidTxnStateError(KafkaError):
    CODE = ErrorCode.INVALID_TXN_STATE


class OperationNotAttemptedError(KafkaError):
    CODE = ErrorCode.OPERATION_NOT_ATTEMPTED


class KafkaStorageError(KafkaError):
    CODE = ErrorCode.KAFKA_STORAGE_ERROR


class LogDirNotFoundError(KafkaError):
    CODE = ErrorCode.LOG_DIR_NOT_FOUND


class UnknownProducerIdError(KafkaError):
    CODE = ErrorCode.UNKNOWN_PRODUCER_ID


class NonEmptyGroupError(KafkaError):
    CODE = ErrorCode.NON_EMPTY_GROUP


class GroupIdNotFoundError(KafkaError):
    CODE = ErrorCode.GROUP_ID_NOT_FOUND


class FetchSessionIdNotFoundError(KafkaError):
    CODE = ErrorCode.FETCH_SESSION_ID_NOT_FOUND


class InvalidFetchSessionEpochError(KafkaError):
    CODE = ErrorCode.INVALID_FETCH_SESSION_EPOCH


class TopicDeletionDisabledError(KafkaError):
    CODE = ErrorCode.TOPIC_DELETION_DISABLED


class FencedLeaderEpochError(KafkaError):
    CODE = ErrorCode.FENCED_LEADER_EPOCH


class UnknownLeaderEpochError(KafkaError):
    CODE = ErrorCode.UNKNOWN_LEADER_EPOCH


class UnsupportedCompressionTypeError(KafkaError):
    CODE = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class StaleBrokerEpochError(KafkaError):
    CODE = ErrorCode.STALE_BROKER_EPOCH


class OffsetNotAvailableError(KafkaError):
    CODE = ErrorCode.OFFSET_NOT_AVAILABLE


class MemberIdRequiredError(KafkaError):
    CODE = ErrorCode.MEMBER_ID_REQUIRED


class GroupMaxSizeReachedError(KafkaError):
    CODE = ErrorCode.GROUP_MAX_SIZE_REACHED


class FencedInstanceIdError(KafkaError):
    CODE = ErrorCode.FENCED_INSTANCE_ID


class GroupSubscribedToTopicError(KafkaError):
    CODE = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


class InvalidRecordError(KafkaError):
    CODE = ErrorCode.INVALID_RECORD


class UnstableOffsetCommitError(KafkaError):
    CODE = ErrorCode.UNSTABLE_OFFSET_COMMIT


class ResourceNotFoundError(KafkaError):
    CODE = ErrorCode.RESOURCE_NOT_FOUND


class DuplicateResourceError(KafkaError):
    CODE = ErrorCode.DUPLICATE_RESOURCE


class UnknownTopicIdError(KafkaError):
    CODE = ErrorCode.UNKNOWN_TOPIC_ID


class DuplicateBrokerRegistrationError(KafkaError):
    CODE = ErrorCode.DUPLICATE_BROKER_REGISTRATION


class BrokerIdNotRegisteredError(KafkaError):
    CODE = ErrorCode.BROKER_ID_NOT_REGISTERED


class InconsistentTopicIdError(KafkaError):
    CODE = ErrorCode.INCONSISTENT_TOPIC_ID


class InconsistentClusterIdError(KafkaError):
    CODE = ErrorCode.INCONSISTENT_CLUSTER_ID


class FetchSessionTopicIdError(KafkaError):
    CODE = ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


class FencedMemberEpochError(KafkaError):
    CODE = ErrorCode.FENCED_MEMBER_EPOCH


class UnreleasedInstanceIdError(KafkaError):
    CODE = ErrorCode.UNRELEASED_INSTANCE_ID


class UnsupportedAssignorError(KafkaError):
    CODE = ErrorCode.UNSUPPORTED_ASSIGNOR


class StaleMemberEpochError(KafkaError):
    CODE = ErrorCode.STALE_MEMBER_EPOCH


class MismatchedEndpointTypeError(KafkaError):
    CODE = ErrorCode.MISMATCHED_ENDPOINT_TYPE


class UnsupportedEndpointTypeError(KafkaError):
    CODE = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


class InvalidRegistrationError(KafkaError):
    CODE = ErrorCode.INVALID_REGISTRATION


class InvalidRegularExpressionError(KafkaError):
    CODE = ErrorCode.INVALID_REGULAR_EXPRESSION
