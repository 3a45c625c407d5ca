"""kafka-topics: creates, lists, describes, alters and deletes topics."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.connect import open_admin
from gralha.cli.json_output import print_json
from gralha.cli.program import CommandError, run
from gralha.cli.topic_filter import INTERNAL_TOPICS, TopicFilter
from gralha.cli.topics_options import check_numbers, parse_assignments, parse_configs, parse_options
from gralha.cli.watching import watched

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.values import NewPartitions, TopicListing
    from gralha.protocol.errors import KafkaError

_COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
    "collide. To avoid issues it is best to use either, but not both."
)


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    actions: dict[str, Callable[[Admin, Namespace], None]] = {
        "list": _list,
        "create": _create,
        "alter": _alter,
        "delete": _delete,
        "describe": _describe,
    }
    (action,) = (function for name, function in actions.items() if getattr(options, name))
    return run(lambda _: _act(action, options), [], prefix="Error while executing topic command : ")


def _act(action: "Callable[[Admin, Namespace], None]", options: Namespace) -> int:
    def once() -> int:
        action(admin, options)
        return 0

    with open_admin(options, "kafka-topics") as admin:
        return watched(once, options.watch)


def _list(admin: "Admin", options: Namespace) -> None:
    topics = matching(admin.list_topics(), options)
    if options.json:
        print_json(topics=[listing_json(topic) for topic in topics])
    else:
        print("\n".join(topic.name for topic in topics))


def listing_json(topic: "TopicListing") -> dict[str, object]:
    """A topic of --list."""
    from gralha.protocol.primitives import uuid_to_string

    return {"topic": topic.name, "topicId": uuid_to_string(topic.topic_id), "isInternal": topic.is_internal}


def _create(admin: "Admin", options: Namespace) -> None:
    from gralha.client.values import NewTopic
    from gralha.protocol.errors import ErrorCode

    name = options.topic
    configs = parse_configs(options.config)
    check_numbers(options)
    if "." in name or "_" in name:
        print(_COLLISION_WARNING)
    assignments = parse_assignments(options.replica_assignment) if options.replica_assignment else None
    topic = NewTopic(
        name,
        partitions=-1 if options.partitions is None else options.partitions,
        replication_factor=-1 if options.replication_factor is None else options.replication_factor,
        assignments=None if assignments is None else dict(enumerate(assignments)),
        configs=configs,
    )
    error = admin.create_topics([topic])[name]
    if error is None:
        print(f"Created topic {name}.")
    elif error.code == ErrorCode.INVALID_CONFIG:
        from gralha.cli.setting_errors import with_advice

        raise CommandError(with_advice(str(error)))
    elif error.code != ErrorCode.TOPIC_ALREADY_EXISTS or not options.if_not_exists:
        raise error


def _alter(admin: "Admin", options: Namespace) -> None:
    topics = existing(admin.list_topics(), options)
    assignments = parse_assignments(options.replica_assignment) if options.replica_assignment else None
    wanted = {name: _new_partitions(admin, name, options.partitions, assignments) for name in topics}
    _raise_first(admin.create_partitions(wanted))


def _new_partitions(
    admin: "Admin", name: str, total: int, assignments: list[list[int]] | None
) -> "NewPartitions":
    """The new partitions. The assignment is for all partitions, so the existing ones are skipped."""
    from gralha.client.values import NewPartitions, TopicDescription

    if assignments is None:
        return NewPartitions(total)
    described = admin.describe_topics([name])[name]
    if not isinstance(described, TopicDescription):
        raise described
    return NewPartitions(total, assignments[len(described.partitions) :])


def _delete(admin: "Admin", options: Namespace) -> None:
    _raise_first(admin.delete_topics(existing(admin.list_topics(), options)))


def _describe(admin: "Admin", options: Namespace) -> None:
    from gralha.cli.topics_description import describe, topic_id_of

    listings = admin.list_topics()
    topic_id = topic_id_of(options.topic_id)
    if topic_id is None:
        describe(admin, options, names=existing(listings, options))
        return
    if any(topic.topic_id == topic_id for topic in listings):
        describe(admin, options, topic_id=topic_id)
    elif not options.if_exists:
        raise CommandError(f"TopicId '{options.topic_id}' does not exist as expected")


def _raise_first(results: "dict[str, KafkaError | None]") -> None:
    for error in results.values():
        if error is not None:
            raise error


def matching(listings: "list[TopicListing]", options: Namespace) -> "list[TopicListing]":
    """The topics that --topic and --exclude-internal select."""
    if options.topic is None:
        return [
            topic for topic in listings if not (options.exclude_internal and topic.name in INTERNAL_TOPICS)
        ]
    allowed = TopicFilter(options.topic)
    return [
        topic for topic in listings if allowed.allows(topic.name, exclude_internal=options.exclude_internal)
    ]


def existing(listings: "list[TopicListing]", options: Namespace) -> list[str]:
    """The names of the selected topics. Without --if-exists, none is a CommandError."""
    names = [topic.name for topic in matching(listings, options)]
    if options.topic and not names and not options.if_exists:
        from gralha.cli.suggestions import did_you_mean

        meant = did_you_mean(options.topic, [topic.name for topic in listings], repr("{}"))
        raise CommandError(
            f"Topic '{options.topic}' does not exist as expected" + (f".{meant}" if meant else "")
        )
    return names
