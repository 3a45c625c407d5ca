"""DescribeConfigs, IncrementalAlterConfigs, AlterConfigs and ListConfigResources."""

import logging

import pytest

from gralha.protocol.errors import ErrorCode, NotControllerError
from gralha.protocol.messages import alter_configs as legacy
from gralha.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from gralha.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.broker.handlers.door import Client, create_topic, make_broker

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND = 0, 1, 2
TOPIC_SOURCE, BROKER_SOURCE, ALL_BROKERS_SOURCE, FILE_SOURCE, DEFAULT_SOURCE, LOGGER_SOURCE = 1, 2, 3, 4, 5, 6
GROUP_SOURCE = 8


async def describe(client, kind, name, *keys, version=4, **options):
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    response = await client.ask(DescribeConfigsRequest(resources=[resource], **options), version)
    (result,) = response.results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


async def value(client, kind, name, key):
    """A setting's value and source."""
    (entry,) = (await describe(client, kind, name, key)).configs
    return entry.value, entry.config_source


async def alter(client, kind, name, *changes, validate_only=False):
    """Changes are (name, operation, value); answers the error code."""
    configs = [
        AlterableConfig(name=key, config_operation=operation, value=text) for key, operation, text in changes
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    (answer,) = (await client.ask(request)).responses
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    assert bool(answer.error_message) == (answer.error_code != 0)
    return answer.error_code


# DescribeConfigs


async def test_a_topics_settings_and_their_sources(tmp_path):
    broker = make_broker(tmp_path, log_segment_bytes=2000000)
    client = Client(broker)
    await create_topic(broker, "a", retention_ms=5000)
    assert await value(client, TOPIC, "a", "retention.ms") == ("5000", TOPIC_SOURCE)
    assert await value(client, TOPIC, "a", "segment.bytes") == ("2000000", FILE_SOURCE)
    assert await value(client, TOPIC, "a", "cleanup.policy") == ("delete", DEFAULT_SOURCE)
    assert len((await describe(client, TOPIC, "a")).configs) > 30


async def test_synonyms_and_documentation_are_told_when_asked_for(broker, client):
    await create_topic(broker, "a", segment_bytes=3000000)
    (entry,) = (await describe(client, TOPIC, "a", "segment.bytes")).configs
    assert (entry.synonyms, entry.documentation, entry.config_type) == ([], None, 3)
    (entry,) = (
        await describe(client, TOPIC, "a", "segment.bytes", include_synonyms=True, include_documentation=True)
    ).configs
    assert [(one.name, one.value, one.source) for one in entry.synonyms] == [
        ("segment.bytes", "3000000", TOPIC_SOURCE),
        ("log.segment.bytes", "1073741824", DEFAULT_SOURCE),
    ]
    assert "segment file" in entry.documentation


async def test_a_brokers_settings(broker, client):
    assert await value(client, BROKER, "1", "node.id") == ("1", FILE_SOURCE)
    (entry,) = (await describe(client, BROKER, "1", "node.id")).configs
    assert entry.read_only
    assert len((await describe(client, BROKER, "1")).configs) > 150
    assert (await describe(client, BROKER, "")).configs == []


async def test_a_groups_settings(client):
    assert await value(client, GROUP, "g", "consumer.session.timeout.ms") == ("45000", DEFAULT_SOURCE)
    assert await alter(client, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")) == 0
    assert await value(client, GROUP, "g", "consumer.session.timeout.ms") == ("50000", GROUP_SOURCE)


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (CLIENT_METRICS, "", ErrorCode.INVALID_REQUEST),
        (77, "a", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_described(client, kind, name, code):
    result = await describe(client, kind, name)
    assert (result.error_code, result.configs) == (code, [])


# IncrementalAlterConfigs


async def test_a_topics_setting_reaches_its_log_and_goes_again(broker, client):
    await create_topic(broker, "a")
    assert await alter(client, TOPIC, "a", ("retention.ms", SET, "5000")) == 0
    assert await value(client, TOPIC, "a", "retention.ms") == ("5000", TOPIC_SOURCE)
    assert broker.replicas.find("a", 0).log.config.retention_ms == 5000
    assert await alter(client, TOPIC, "a", ("retention.ms", DELETE, None)) == 0
    assert broker.replicas.find("a", 0).log.config.retention_ms == 604800000


async def test_a_list_grows(broker, client):
    await create_topic(broker, "a")
    assert await alter(client, TOPIC, "a", ("cleanup.policy", APPEND, "compact")) == 0
    assert await value(client, TOPIC, "a", "cleanup.policy") == ("delete,compact", TOPIC_SOURCE)


async def test_the_setting_of_one_broker_beats_that_of_all(broker, client):
    await create_topic(broker, "a")
    assert await alter(client, BROKER, "", ("message.max.bytes", SET, "2000000")) == 0
    assert await value(client, TOPIC, "a", "max.message.bytes") == ("2000000", ALL_BROKERS_SOURCE)
    assert await alter(client, BROKER, "1", ("message.max.bytes", SET, "3000000")) == 0
    assert await value(client, BROKER, "1", "message.max.bytes") == ("3000000", BROKER_SOURCE)
    assert broker.replicas.find("a", 0).log.config.max_message_bytes == 3000000
    assert [one.name for one in (await describe(client, BROKER, "")).configs] == ["message.max.bytes"]


async def test_validate_only_changes_nothing(broker, client):
    await create_topic(broker, "a")
    assert await alter(client, TOPIC, "a", ("retention.ms", SET, "5000"), validate_only=True) == 0
    assert await value(client, TOPIC, "a", "retention.ms") == ("604800000", DEFAULT_SOURCE)


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (TOPIC, "a", ("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", ("nope", SET, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (TOPIC, "nope", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "1", ("node.id", SET, "3"), ErrorCode.INVALID_REQUEST),
        (BROKER, "2", ("message.max.bytes", SET, "2000000"), ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ("message.max.bytes", SET, "2000000"), ErrorCode.INVALID_REQUEST),
        (LOGGER, "2", ("gralha", SET, "INFO"), ErrorCode.INVALID_REQUEST),
        (77, "a", ("a", SET, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_changes_that_are_refused(broker, client, kind, name, change, code):
    await create_topic(broker, "a")
    assert await alter(client, kind, name, change) == code


async def test_answers_come_in_the_order_of_the_request(broker, client):
    await create_topic(broker, "a")
    named = [(BROKER, "2"), (TOPIC, "a"), (LOGGER, "1"), (TOPIC, "nope"), (BROKER, "3")]
    resources = [AlterConfigsResource(resource_type=kind, resource_name=name) for kind, name in named]
    response = await client.ask(IncrementalAlterConfigsRequest(resources=resources))
    assert [(one.resource_type, one.resource_name) for one in response.responses] == named
    assert [one.error_code for one in response.responses] == [
        ErrorCode.INVALID_REQUEST,
        0,
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ]


async def test_a_controller_that_fails_is_an_error_of_each_resource(broker, client):
    await create_topic(broker, "a")
    broker.controller.failure = NotControllerError()
    assert await alter(client, TOPIC, "a", ("retention.ms", SET, "1")) == ErrorCode.NOT_CONTROLLER
    resource = legacy.AlterConfigsResource(resource_type=TOPIC, resource_name="a")
    response = await client.ask(legacy.AlterConfigsRequest(resources=[resource]))
    assert response.responses[0].error_code == ErrorCode.NOT_CONTROLLER


# Loggers


@pytest.fixture
def logger():
    logger = logging.getLogger("gralha.test.handlers")
    yield logger
    logger.setLevel(logging.NOTSET)


async def test_a_loggers_level_changes_and_goes_back(client, logger):
    before = await value(client, LOGGER, "1", logger.name)
    assert await alter(client, LOGGER, "1", (logger.name, SET, "TRACE")) == 0
    assert await value(client, LOGGER, "1", logger.name) == ("TRACE", LOGGER_SOURCE)
    assert logger.level == 5
    assert await alter(client, LOGGER, "1", (logger.name, DELETE, None)) == 0
    assert await value(client, LOGGER, "1", logger.name) == before


async def test_a_logger_changes_not_at_all_if_one_change_is_wrong(client, logger):
    changes = [(logger.name, SET, "DEBUG"), ("gralha.nope", SET, "DEBUG")]
    assert await alter(client, LOGGER, "1", *changes) == ErrorCode.INVALID_CONFIG
    assert await alter(client, LOGGER, "1", changes[0], validate_only=True) == 0
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("gralha.test.handlers", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        (("gralha.test.handlers", SET, None), ErrorCode.INVALID_REQUEST),
        (("gralha.test.handlers", APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        (("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        (("asyncio", SET, "INFO"), ErrorCode.INVALID_CONFIG),
    ],
)
async def test_levels_that_are_refused(client, logger, change, code):
    assert await alter(client, LOGGER, "1", change) == code


# AlterConfigs


async def alter_all(client, kind, name, **texts):
    configs = [legacy.AlterableConfig(name=key.replace("_", "."), value=text) for key, text in texts.items()]
    resource = legacy.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    (answer,) = (await client.ask(legacy.AlterConfigsRequest(resources=[resource]))).responses
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer.error_code


async def test_what_the_older_call_does_not_name_goes_back_to_its_default(broker, client):
    await create_topic(broker, "a", retention_ms=5000)
    assert await alter_all(client, TOPIC, "a", segment_ms="600000") == 0
    assert broker.image.topic_configs("a") == {"segment.ms": "600000"}


@pytest.mark.parametrize(
    ("kind", "name"), [(BROKER, "2"), (BROKER, "one"), (LOGGER, "1"), (TOPIC, ""), (77, "a")]
)
async def test_what_the_older_call_cannot_change(client, kind, name):
    assert await alter_all(client, kind, name) == ErrorCode.INVALID_REQUEST


# ListConfigResources


async def listed(client, *kinds, version=1):
    request = ListConfigResourcesRequest(resource_types=list(kinds) if version else [])
    response = await client.ask(request, version)
    return response.error_code, [(one.resource_type, one.resource_name) for one in response.config_resources]


async def test_resources_by_kind(broker, client):
    await create_topic(broker, "a")
    await alter(client, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"))
    everything = [(TOPIC, "a"), (BROKER, "1"), (LOGGER, "1"), (GROUP, "g")]
    assert await listed(client) == (0, everything)
    assert await listed(client, GROUP, TOPIC, GROUP) == (0, [(GROUP, "g"), (TOPIC, "a")])
    assert await listed(client, CLIENT_METRICS) == (0, [])
    assert await listed(client, TOPIC, 77) == (ErrorCode.UNSUPPORTED_VERSION, [])


async def test_version_0_lists_client_metrics_only(broker, client):
    await create_topic(broker, "a")
    assert await listed(client, version=0) == (0, [])
