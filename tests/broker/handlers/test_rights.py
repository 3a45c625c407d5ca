"""What handlers answer to callers without rights: errors, and nothing of what they may not describe.

`test_rights_like_apache.py` compares all APIs with Apache Kafka. Here is what that cannot see.
"""

import json
import logging
from collections.abc import Awaitable
from typing import Any, cast

import pytest

from gralha.broker import handlers
from gralha.broker.audit import DENIALS_PER_SECOND, Audit
from gralha.broker.handlers import needs
from gralha.broker.pipeline import Peer, RequestContext
from gralha.metadata.controller.acls import create_acls
from gralha.protocol import apis
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.apis import ApiKey
from gralha.protocol.envelopes import open_response, principal_bytes, principal_of, sealed_request
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from gralha.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.describe_acls import DescribeAclsRequest
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest
from gralha.protocol.messages.envelope import EnvelopeRequest
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from gralha.protocol.primitives import ProtocolError
from tests.broker.handlers.door import NOW_MS, Client, create_topic, make_broker
from tests.broker.handlers.fetching import fetch_request

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def broker(tmp_path):
    broker = make_broker(
        tmp_path,
        authorizer_class_name=AUTHORIZER,
        super_users="User:admin",
        offsets_topic_num_partitions=1,
    )
    yield broker
    broker.logs.release()


@pytest.fixture
def admin(broker):
    return Client(broker, principal="User:admin")


@pytest.fixture
def bob(broker):
    return Client(broker, principal="User:bob")


def allow(broker, operation, kind, name, pattern=LITERAL, permission=ALLOW, principal="User:bob"):
    creation = AclCreation(kind, name, pattern, principal, "*", operation, permission)
    request = CreateAclsRequest([creation])
    broker.controller.commit(create_acls(broker.image, request, broker.controller.context).records)


async def test_an_api_without_declared_rights_stops_the_node():
    needs.check_declared(handlers.SERVED)
    with pytest.raises(needs.UndeclaredApiError, match="No rights are declared for GET_TELEMETRY"):
        needs.check_declared([*handlers.SERVED, ApiKey.GET_TELEMETRY_SUBSCRIPTIONS])


async def test_only_super_users_pass_before_the_acls_are_known(broker, admin, bob):
    assert not broker.rights.authorizer.is_loaded
    assert (await bob.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1))).error_code == (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    )
    assert (await admin.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1))).error_code == 0


async def test_all_topics_are_those_that_one_may_describe(broker, bob):
    for name in ("open", "open-too", "secret"):
        await create_topic(broker, name)
    allow(broker, Operation.READ, TOPIC, "open", PREFIXED)
    response = await bob.ask(MetadataRequest(topics=None))
    assert [topic.name for topic in response.topics] == ["open", "open-too"]


async def test_a_secret_topic_answers_like_a_missing_one(broker, bob):
    secret_id = await create_topic(broker, "secret")
    allow(broker, Operation.READ, TOPIC, "other")
    by_name = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("secret", "missing")])
    found = (await bob.ask(by_name)).topics
    assert [(one.name, one.error_code, one.topic_id, one.partitions) for one in found] == [
        ("secret", DENIED, bytes(16), []),
        ("missing", DENIED, bytes(16), []),
    ]
    assert "missing" not in broker.image.topics
    by_id = [MetadataRequestTopic(name=None, topic_id=one) for one in (secret_id, b"u" * 16)]
    found = (await bob.ask(MetadataRequest(topics=by_id))).topics
    assert [(one.name, one.error_code) for one in found] == [
        (None, DENIED),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


async def test_a_topic_is_created_automatically_only_with_the_right_to_create_it(broker, bob):
    allow(broker, Operation.DESCRIBE, TOPIC, "new", PREFIXED)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="new")])
    assert [(one.error_code) for one in (await bob.ask(asked)).topics] == [DENIED]
    assert "new" not in broker.image.topics
    allow(broker, Operation.CREATE, TOPIC, "new")
    assert [(one.error_code) for one in (await bob.ask(asked)).topics] == [0]


async def test_deleted_by_id_the_name_of_a_secret_topic_stays_secret(broker, bob):
    secret_id = await create_topic(broker, "secret")
    known_id = await create_topic(broker, "known")
    allow(broker, Operation.DESCRIBE, TOPIC, "known")
    states = [DeleteTopicState(name=None, topic_id=one) for one in (secret_id, known_id)]
    states += [DeleteTopicState(name=name) for name in ("secret2", "known2")]
    allow(broker, Operation.DESCRIBE, TOPIC, "known2")
    found = (await bob.ask(DeleteTopicsRequest(topics=states))).responses
    assert {(one.name, one.topic_id): one.error_code for one in found} == {
        (None, secret_id): DENIED,
        ("known", known_id): DENIED,
        ("secret2", bytes(16)): DENIED,
        ("known2", bytes(16)): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert {"secret", "known"} <= broker.image.topics.keys()


async def test_the_configs_of_a_created_topic_are_shown_to_those_who_may_describe_them(broker, bob):
    allow(broker, Operation.CREATE, CLUSTER, "kafka-cluster")
    allow(broker, Operation.DESCRIBE_CONFIGS, TOPIC, "open")
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("open", "new")]
    shown, hidden = (await bob.ask(CreateTopicsRequest(topics=topics))).topics
    assert (shown.topic_config_error_code, shown.num_partitions, bool(shown.configs)) == (0, 1, True)
    assert (hidden.topic_config_error_code, hidden.num_partitions, hidden.configs) == (DENIED, -1, [])


async def test_authorized_operations_are_those_of_the_caller(broker, admin, bob):
    await create_topic(broker, "a")
    allow(broker, Operation.READ, TOPIC, "a")
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="a")], include_topic_authorized_operations=True)
    (mine,) = (await bob.ask(asked)).topics
    assert mine.topic_authorized_operations == 1 << Operation.READ | 1 << Operation.DESCRIBE
    (all_of_them,) = (await admin.ask(asked)).topics
    assert all_of_them.topic_authorized_operations == 0b110111111000
    cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert (await bob.ask(cluster)).cluster_authorized_operations == 0
    allow(broker, Operation.ALTER, CLUSTER, "kafka-cluster")
    assert (await bob.ask(cluster)).cluster_authorized_operations == (
        1 << Operation.ALTER | 1 << Operation.DESCRIBE
    )


async def test_the_topic_of_coordinators_is_made_for_clients_without_the_right_to_create_topics(broker, bob):
    asked = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    (refused,) = (await bob.ask(asked)).coordinators
    assert refused.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert "__consumer_offsets" not in broker.image.topics
    allow(broker, Operation.READ, GROUP, "g")
    (found,) = (await bob.ask(asked)).coordinators
    assert (found.error_code, found.node_id) == (0, 1)


@pytest.mark.parametrize("is_allowed", [False, True])
async def test_two_phase_commit_is_a_right_of_its_own(tmp_path, is_allowed):
    broker = make_broker(
        tmp_path,
        authorizer_class_name=AUTHORIZER,
        transaction_two_phase_commit_enable="true",
        transaction_state_log_num_partitions=1,
    )
    allow(broker, Operation.WRITE, TRANSACTIONAL_ID, "t")
    if is_allowed:
        allow(broker, Operation.TWO_PHASE_COMMIT, TRANSACTIONAL_ID, "t")
    request = InitProducerIdRequest("t", 1000, enable_2pc=True)
    response = await Client(broker, principal="User:bob").ask(request)
    refused = response.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert refused is not is_allowed, ErrorCode(response.error_code)
    broker.logs.release()


async def test_a_client_that_says_it_is_a_follower_changes_nothing(broker, bob):
    await create_topic(broker, "a")
    allow(broker, Operation.READ, TOPIC, "a")
    as_follower = fetch_request({0: 0}, topic="a", replica_id=2, max_wait_ms=0)
    (topic,) = (await bob.ask(as_follower, 12)).responses
    assert [one.error_code for one in topic.partitions] == [DENIED]
    assert len(broker.fetch_sessions) == 0


async def test_acls_are_made_listed_and_removed(broker, admin, bob, caplog):
    with caplog.at_level(logging.INFO, "gralha.audit"):
        creation = AclCreation(TOPIC, "a", LITERAL, "User:bob", "*", Operation.READ, ALLOW)
        (result,) = (await admin.ask(CreateAclsRequest([creation]))).results
        assert result.error_code == 0
        assert broker.rights.authorizer.allows("User:bob", "h", Operation.READ, ResourceType.TOPIC, "a")
        (found,) = (await admin.ask(DescribeAclsRequest(TOPIC, "a", 1, None, None, 1, 1))).resources
        assert [(acl.principal, acl.operation) for acl in found.acls] == [("User:bob", Operation.READ)]
        (refused,) = (await bob.ask(CreateAclsRequest([creation]))).results
        assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        everything = DeleteAclsFilter(1, None, 1, None, None, 1, 1)
        (gone,) = (await admin.ask(DeleteAclsRequest([everything]))).filter_results
        assert [acl.resource_name for acl in gone.matching_acls] == ["a"]
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "gralha.audit"]
    assert [(line["event"], line["principal"]) for line in lines] == [
        ("ACL created", "User:admin"),
        ("denied", "User:bob"),
        ("ACL deleted", "User:admin"),
    ]
    assert lines[1]["operation"] == "ALTER"


async def test_without_an_authorizer_acls_would_have_no_effect(tmp_path):
    broker = make_broker(tmp_path)
    response = await Client(broker).ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1))
    assert response.error_code == ErrorCode.SECURITY_DISABLED
    creation = AclCreation(TOPIC, "a", LITERAL, "User:bob", "*", Operation.READ, ALLOW)
    (result,) = (await Client(broker).ask(CreateAclsRequest([creation]))).results
    assert (result.error_code, result.error_message) == (
        ErrorCode.SECURITY_DISABLED,
        "No Authorizer is configured.",
    )
    broker.logs.release()


# Envelopes


async def forwarded(broker, principal, data, request=None):
    request = request or CreateTopicsRequest(
        topics=[CreatableTopic(name="made", num_partitions=1, replication_factor=1)]
    )
    envelope = EnvelopeRequest(
        request_data=sealed_request(request, 7, "c"), request_principal=data, client_host_address=bytes(4)
    )
    api = handlers.CONTROLLER_APIS[ApiKey.ENVELOPE]
    peer = Peer("127.0.0.1", 1, "CONTROLLER", principal, handlers.CONTROLLER_APIS)
    answer = api.handle(broker, RequestContext(peer, 0, None), envelope)
    response: Any = answer if isinstance(answer, Message) else await cast(Awaitable[Message], answer)
    if response.error_code:
        return ErrorCode(response.error_code)
    opened: Any = open_response(response.response_data, apis.APIS[ApiKey.CREATE_TOPICS], 7)
    return ErrorCode(opened.topics[0].error_code)


async def test_the_rights_of_a_forwarded_request_are_those_of_the_client(broker):
    allow(broker, Operation.CREATE, TOPIC, "made")
    assert await forwarded(broker, "User:admin", principal_bytes("User:ann")) == DENIED
    assert await forwarded(broker, "User:admin", principal_bytes("User:bob")) == ErrorCode.NONE


async def test_only_brokers_send_envelopes(broker):
    allow(broker, Operation.CREATE, TOPIC, "made")
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert await forwarded(broker, "User:bob", principal_bytes("User:admin")) == refused
    allow(broker, Operation.CLUSTER_ACTION, CLUSTER, "kafka-cluster", principal="User:broker")
    assert await forwarded(broker, "User:broker", principal_bytes("User:bob")) == ErrorCode.NONE
    # Without a principal the request is the broker's own.
    assert await forwarded(broker, "User:broker", None) == DENIED


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1" + b"\5User\4bob\0\0", b"\0\0\5User", b"\0\0\1\1\0\0"])
async def test_a_principal_that_cannot_be_read_is_an_error(broker, data):
    assert await forwarded(broker, "User:admin", data) == ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE


def test_principals_are_written_as_kafka_does():
    assert principal_bytes("User:bob") == b"\0\0" + b"\5User" + b"\4bob" + b"\0" + b"\0"
    read = principal_of(principal_bytes("User:CN=a:b", True))
    assert (read.type, read.name, read.token_authenticated) == ("User", "CN=a:b", True)
    with pytest.raises(ProtocolError):
        principal_of(principal_bytes("User:bob") + b"x")


# The audit log


def test_a_flood_of_denials_is_counted_and_not_written(caplog):
    now_ms = NOW_MS
    audit = Audit(lambda: now_ms)
    context = RequestContext(Peer("10.0.0.9", 1, "PLAINTEXT", "User:bob", {}), 0, "app")
    with caplog.at_level(logging.INFO, "gralha.audit"):
        for _ in range(DENIALS_PER_SECOND + 25):
            audit.denied(context, Operation.READ, ResourceType.TOPIC, "secret")
        assert len(caplog.records) == DENIALS_PER_SECOND
        now_ms += 1000
        audit.denied(context, Operation.READ, ResourceType.TOPIC, 'quo"ted\n')
    line = json.loads(caplog.records[-1].getMessage())
    assert line == {
        "event": "denied",
        "principal": "User:bob",
        "host": "10.0.0.9",
        "listener": "PLAINTEXT",
        "client_id": "app",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource": 'quo"ted\n',
        "denials_left_out": 25,
    }


def test_long_names_are_cut(caplog):
    context = RequestContext(Peer("10.0.0.9", 1, "PLAINTEXT", "User:bob", {}), 0, "\0" * 30_000)
    with caplog.at_level(logging.INFO, "gralha.audit"):
        Audit(lambda: NOW_MS).denied(context, Operation.READ, ResourceType.TOPIC, "\0" * 30_000)
    line = json.loads(caplog.records[-1].getMessage())
    assert (len(line["resource"]), len(line["client_id"])) == (256, 256)


async def test_a_changed_config_is_audited_without_its_value(broker, admin, caplog):
    await create_topic(broker, "a")
    change = AlterConfigsResource(2, "a", [AlterableConfig("retention.ms", 0, "12345")])
    with caplog.at_level(logging.INFO, "gralha.audit"):
        await admin.ask(IncrementalAlterConfigsRequest([change]))
    (line,) = [json.loads(one.getMessage()) for one in caplog.records if one.name == "gralha.audit"]
    assert (line["event"], line["resource"], line["configs"]) == ("configs changed", "a", ["retention.ms"])
    assert "12345" not in json.dumps(line)


async def test_changed_users_and_quotas_are_audited_without_their_secrets(broker, admin, caplog):
    upsertion = ScramCredentialUpsertion("alice", 1, 4096, b"of-the-salt", b"p" * 32)
    entity = [EntityData("user", "alice"), EntityData("client-id", None)]
    quota = EntryData(entity, [OpData("producer_byte_rate", 1e6)])
    with caplog.at_level(logging.INFO, "gralha.audit"):
        await admin.ask(AlterUserScramCredentialsRequest([], [upsertion]))
        await admin.ask(AlterClientQuotasRequest([quota], validate_only=True))
        await admin.ask(AlterClientQuotasRequest([quota]))
    users, quotas = (json.loads(one.getMessage()) for one in caplog.records if one.name == "gralha.audit")
    assert (users["event"], users["principal"], users["users"]) == (
        "SCRAM credentials changed",
        "User:admin",
        ["alice"],
    )
    assert "salt" not in json.dumps(users)
    assert (quotas["event"], quotas["entities"]) == ("quotas changed", [{"user": "alice", "client-id": None}])
