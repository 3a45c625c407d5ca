"""IncrementalAlterConfigs and AlterConfigs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata.cluster import cluster, context, replay
from tests.metadata.controller.test_topics import with_topics

from gralha.metadata.controller.configs import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    alter_configs,
    incremental_alter_configs,
)
from gralha.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages import alter_configs as legacy
from gralha.protocol.messages import incremental_alter_configs as incremental

TOPIC_A = (TOPIC_RESOURCE, "a")


def alter(image, *resources, validate_only=False):
    request = incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource[0], resource[1], [incremental.AlterableConfig(*change) for change in changes]
            )
            for resource, changes in resources
        ],
        validate_only=validate_only,
    )
    return incremental_alter_configs(image, request, context())


def outcome(decision):
    return [ErrorCode(response.error_code).name for response in decision.response.responses]


def changed(image, resource, *changes):
    decision = alter(image, (resource, changes))
    assert outcome(decision) == ["NONE"]
    return replay(image, decision.records)[0]


def test_settings_are_set_and_deleted():
    image = changed(with_topics("a"), TOPIC_A, ("retention.ms", SET, "5"), ("segment.ms", SET, "7"))
    assert image.topic_configs("a") == {"retention.ms": "5", "segment.ms": "7"}
    image = changed(image, TOPIC_A, ("retention.ms", DELETE, None), ("flush.ms", DELETE, None))
    assert image.topic_configs("a") == {"segment.ms": "7"}


def test_lists_grow_and_shrink_from_their_default():
    image = changed(with_topics("a"), TOPIC_A, ("cleanup.policy", APPEND, "compact"))
    assert image.topic_configs("a") == {"cleanup.policy": "delete,compact"}
    image = changed(image, TOPIC_A, ("cleanup.policy", APPEND, "compact, delete"))
    assert image.topic_configs("a") == {"cleanup.policy": "delete,compact"}
    image = changed(image, TOPIC_A, ("cleanup.policy", SUBTRACT, "delete"))
    assert image.topic_configs("a") == {"cleanup.policy": "compact"}
    image = changed(image, TOPIC_A, ("cleanup.policy", SUBTRACT, "compact"))
    assert image.topic_configs("a") == {"cleanup.policy": ""}


@pytest.mark.parametrize(
    ("resource", "change", "code"),
    [
        (TOPIC_A, ("retention.ms", SET, "x"), "INVALID_CONFIG"),
        (TOPIC_A, ("no.such.config", SET, "1"), "INVALID_CONFIG"),
        (TOPIC_A, ("retention.ms", APPEND, "1"), "INVALID_CONFIG"),
        (TOPIC_A, ("cleanup.policy", APPEND, "nonsense"), "INVALID_CONFIG"),
        (TOPIC_A, ("leader.replication.throttled.replicas", SET, "0:1," * 9000), "INVALID_CONFIG"),
        (TOPIC_A, ("retention.ms", SET, None), "INVALID_REQUEST"),
        (TOPIC_A, ("retention.ms", 9, "1"), "INVALID_REQUEST"),
        ((TOPIC_RESOURCE, "x"), ("retention.ms", SET, "1"), "UNKNOWN_TOPIC_OR_PARTITION"),
        ((TOPIC_RESOURCE, ""), ("retention.ms", SET, "1"), "INVALID_REQUEST"),
        ((TOPIC_RESOURCE, "a/b"), ("retention.ms", SET, "1"), "INVALID_TOPIC_EXCEPTION"),
        ((BROKER_RESOURCE, "1"), ("node.id", SET, "1"), "INVALID_REQUEST"),
        ((BROKER_RESOURCE, "1"), ("log.retention.ms", SET, "x"), "INVALID_REQUEST"),
        ((BROKER_RESOURCE, "x"), ("log.retention.ms", SET, "1"), "INVALID_REQUEST"),
        ((BROKER_RESOURCE, "-1"), ("log.retention.ms", SET, "1"), "INVALID_REQUEST"),
        ((BROKER_RESOURCE, "7"), ("log.retention.ms", SET, "1"), "BROKER_ID_NOT_REGISTERED"),
        ((BROKER_RESOURCE, ""), ("listeners", SET, "A://:1"), "INVALID_REQUEST"),
        ((GROUP_RESOURCE, ""), ("consumer.session.timeout.ms", SET, "50000"), "INVALID_REQUEST"),
        ((GROUP_RESOURCE, "g"), ("consumer.session.timeout.ms", SET, "0"), "INVALID_CONFIG"),
        ((GROUP_RESOURCE, "g"), ("nonsense", SET, "0"), "INVALID_CONFIG"),
        ((8, "1"), ("root", SET, "INFO"), "INVALID_REQUEST"),
        ((16, "s"), ("metrics", SET, "*"), "INVALID_REQUEST"),
        ((0, "s"), ("x", SET, "*"), "INVALID_REQUEST"),
    ],
)
def test_what_makes_no_sense_is_refused(resource, change, code):
    decision = alter(with_topics("a"), (resource, [change]))
    assert outcome(decision) == [code]
    assert decision.response.responses[0].error_message
    assert decision.records == []


def test_a_resource_changes_as_a_whole_and_others_by_themselves():
    image = with_topics("a", "b")
    decision = alter(
        image,
        (TOPIC_A, [("segment.ms", SET, "7"), ("retention.ms", SET, "x")]),
        ((TOPIC_RESOURCE, "b"), [("segment.ms", SET, "7")]),
    )
    assert outcome(decision) == ["INVALID_CONFIG", "NONE"]
    after, _ = replay(image, decision.records)
    assert after.topic_configs("a") == {}
    assert after.topic_configs("b") == {"segment.ms": "7"}


def test_settings_are_judged_together_with_those_that_stay():
    image = changed(with_topics("a"), TOPIC_A, ("max.compaction.lag.ms", SET, "5"))
    assert outcome(alter(image, (TOPIC_A, [("min.compaction.lag.ms", SET, "6")]))) == ["INVALID_CONFIG"]


def test_duplicates_are_refused():
    image = with_topics("a")
    change = ("segment.ms", SET, "7")
    assert outcome(alter(image, (TOPIC_A, [change]), (TOPIC_A, [change]))) == ["INVALID_REQUEST"] * 2
    assert outcome(alter(image, (TOPIC_A, [change, change]))) == ["INVALID_REQUEST"]


def test_brokers_have_settings_of_their_own_and_in_common():
    image = changed(cluster(1), (BROKER_RESOURCE, ""), ("log.retention.ms", SET, "5"))
    image = changed(image, (BROKER_RESOURCE, "1"), ("log.retention.ms", SET, "6"))
    assert image.default_broker_configs() == {"log.retention.ms": "5"}
    assert image.broker_configs(1) == {"log.retention.ms": "6"}
    # The same value is recorded again, so that brokers reload certificates and keys.
    assert len(alter(image, ((BROKER_RESOURCE, "1"), [("log.retention.ms", SET, "6")])).records) == 1


def test_an_unchanged_topic_needs_no_record():
    image = changed(with_topics("a"), TOPIC_A, ("segment.ms", SET, "7"))
    assert alter(image, (TOPIC_A, [("segment.ms", SET, "7")])).records == []


def test_groups_have_settings():
    image = changed(cluster(1), (GROUP_RESOURCE, "g"), ("consumer.session.timeout.ms", SET, "50000"))
    assert image.configs[GROUP_RESOURCE, "g"] == {"consumer.session.timeout.ms": "50000"}


def test_validate_only_records_nothing():
    decision = alter(with_topics("a"), (TOPIC_A, [("segment.ms", SET, "7")]), validate_only=True)
    assert outcome(decision) == ["NONE"]
    assert decision.records == []


POLICIES = st.lists(st.sampled_from(["compact", "delete"]), max_size=2, unique=True).map(",".join)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("cleanup.policy"), st.sampled_from([SET, APPEND, SUBTRACT]), POLICIES),
        st.tuples(st.sampled_from(["cleanup.policy", "segment.ms"]), st.just(DELETE), st.none()),
        st.tuples(st.just("segment.ms"), st.just(SET), st.integers(1, 5).map(str)),
    ),
    unique_by=lambda change: change[0],
)


@given(st.lists(CHANGES, max_size=8))
def test_changes_do_what_a_simple_model_does(requests):
    image = with_topics("a")
    model: dict[str, str] = {}
    for changes in requests:
        image = changed(image, TOPIC_A, *changes)
        for name, operation, value in changes:
            items = [item for item in model.get(name, "delete").split(",") if item]
            given_items = [item for item in (value or "").split(",") if item]
            if operation == SET:
                model[name] = value
            elif operation == DELETE:
                model.pop(name, None)
            elif operation == APPEND:
                model[name] = ",".join(dict.fromkeys(items + given_items))
            else:
                model[name] = ",".join(item for item in items if item not in given_items)
        assert image.topic_configs("a") == model


def replace(image, *resources, validate_only=False):
    request = legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource[0], resource[1], [legacy.AlterableConfig(name, value) for name, value in configs]
            )
            for resource, configs in resources
        ],
        validate_only=validate_only,
    )
    return alter_configs(image, request, context())


def test_the_older_call_replaces_all_settings():
    image = changed(with_topics("a"), TOPIC_A, ("retention.ms", SET, "5"), ("segment.ms", SET, "7"))
    decision = replace(image, (TOPIC_A, [("retention.ms", "6"), ("flush.ms", "1")]))
    assert outcome(decision) == ["NONE"]
    after, _ = replay(image, decision.records)
    assert after.topic_configs("a") == {"retention.ms": "6", "flush.ms": "1"}
    assert replace(image, (TOPIC_A, []), validate_only=True).records == []
    after, _ = replay(image, replace(image, (TOPIC_A, [])).records)
    assert after.topic_configs("a") == {}


@pytest.mark.parametrize(
    ("configs", "code"),
    [
        ([("retention.ms", None)], "INVALID_REQUEST"),
        ([("retention.ms", "1"), ("retention.ms", "2")], "INVALID_REQUEST"),
        ([("retention.ms", "x")], "INVALID_CONFIG"),
    ],
)
def test_the_older_call_is_checked_too(configs, code):
    decision = replace(with_topics("a"), (TOPIC_A, configs))
    assert outcome(decision) == [code]
    assert decision.records == []
