"""kafka-consumer-groups: lists, describes and deletes consumer groups, resets and deletes their offsets.

If it fails, Kafka's own command still ends with exit code 0. This one ends with 1.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.connect import open_admin
from gralha.cli.consumer_groups_options import parse_options
from gralha.cli.json_output import print_json
from gralha.cli.program import EXIT_FAILED, CommandError, run
from gralha.cli.watching import watched

if TYPE_CHECKING:
    from gralha.cli.consumer_groups_description import OffsetRow
    from gralha.client.admin import Admin
    from gralha.client.group_values import GroupDescription, GroupListing
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError

_FAILURE = "Error: Executing consumer group command failed due to "


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    if options.validate_regex is not None:
        return _validate_regex(options.validate_regex)
    actions: dict[str, Callable[[Admin, Namespace], int]] = {
        "list": _list,
        "describe": _describe,
        "delete": _delete,
        "reset_offsets": _reset_offsets,
        "delete_offsets": _delete_offsets,
    }
    (action,) = (function for name, function in actions.items() if getattr(options, name))
    return run(lambda _: _act(action, options), [], prefix=_FAILURE)


def _validate_regex(expression: str) -> int:
    from gralha.cli.re2_syntax import complaint

    wrong = complaint(expression)
    if wrong is None:
        print(f"The regular expression `{expression}` is valid.")
        return 0
    print(f"The regular expression `{expression}` is invalid: {wrong}.")
    return EXIT_FAILED


def _act(action: "Callable[[Admin, Namespace], int]", options: Namespace) -> int:
    with open_admin(options, "kafka-consumer-groups", timeout_ms=options.timeout) as admin:
        return watched(lambda: action(admin, options), options.watch)


def _consumer_groups(
    admin: "Admin", *, states: Iterable[str] = (), types: Iterable[str] = ()
) -> "list[GroupListing]":
    """The groups of consumers of both protocols, without groups of other clients such as Connect."""
    from gralha.client.group_values import CLASSIC, CONSUMER, CONSUMER_PROTOCOLS

    listings = admin.list_groups(states=states, types=types or (CLASSIC, CONSUMER))
    return [group for group in listings if group.protocol_type in CONSUMER_PROTOCOLS]


def _chosen(admin: "Admin", options: Namespace) -> list[str]:
    """The groups that --group or --all-groups name."""
    if options.all_groups:
        return [group.group_id for group in _consumer_groups(admin)]
    return list(dict.fromkeys(options.group))


# Listing


def _list(admin: "Admin", options: Namespace) -> int:
    groups = _consumer_groups(admin, states=options.states, types=options.types)
    if options.json:
        print_json(groups=[{"group": one.group_id, "type": one.type, "state": one.state} for one in groups])
        return 0
    with_type, with_state = options.type is not None, options.state is not None
    if with_type or with_state:
        print(listing_table(groups, with_type=with_type, with_state=with_state), end="")
    else:
        for group in groups:
            print(group.group_id)
    return 0


def listing_table(groups: "Sequence[GroupListing]", *, with_type: bool, with_state: bool) -> str:
    """Groups with their types, their states, or both."""
    width = max([15, *(len(group.group_id) for group in groups)]) + 10
    lines = [("GROUP", "TYPE", "STATE")]
    lines += [(group.group_id, group.type or "Unknown", group.state or "Unknown") for group in groups]
    text = ""
    for group_id, kind, state in lines:
        text += f"{group_id:<{width}}"
        text += f" {kind:<20}" if with_type else ""
        text += f" {state:<20}" if with_state else ""
        text += "\n"
    return text


# Describing


def _describe(admin: "Admin", options: Namespace) -> int:
    from gralha.cli import consumer_groups_description as description

    verbose: bool = options.verbose
    groups = _described(admin, _chosen(admin, options))
    if options.json:
        return _describe_json(admin, options, groups)
    if options.members:
        tables = [description.members_table(group, verbose=verbose) for group in groups]
    elif options.state is not None:
        tables = [description.state_table(group, verbose=verbose) for group in groups]
    else:
        rows = _offset_rows(admin, groups)
        tables = [
            description.with_colours(
                description.offsets_table(group.group_id, rows[group.group_id], verbose=verbose),
                rows[group.group_id],
            )
            for group in groups
        ]
    for group, table in zip(groups, tables, strict=True):
        remark = description.remark(group)
        if remark is not None:
            print(f"\n{remark}", file=sys.stderr)
        print(table, end="", flush=True)
    return 0


def _describe_json(admin: "Admin", options: Namespace, groups: "Sequence[GroupDescription]") -> int:
    from gralha.cli import consumer_groups_json as documents

    if options.members:
        print_json(groups=[documents.members(group) for group in groups])
    elif options.state is not None:
        print_json(groups=[documents.state(group) for group in groups])
    else:
        rows = _offset_rows(admin, groups)
        print_json(groups=[documents.offsets(group, rows[group.group_id]) for group in groups])
    return 0


def _described(admin: "Admin", group_ids: Iterable[str]) -> "list[GroupDescription]":
    """Groups ordered by name. Raises the error if one of them cannot be described."""
    from gralha.protocol.errors import KafkaError

    groups = []
    for group_id, group in sorted(admin.describe_groups(group_ids).items()):
        if isinstance(group, KafkaError):
            raise _not_described(admin, group_id, group)
        groups.append(group)
    return groups


def _not_described(admin: "Admin", group_id: str, error: "KafkaError") -> Exception:
    """The error, with the name of the group that was probably meant."""
    from gralha.cli.suggestions import did_you_mean
    from gralha.protocol.errors import ErrorCode

    if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
        return error
    meant = did_you_mean(group_id, [group.group_id for group in _consumer_groups(admin)], repr("{}"))
    return CommandError(f"{error}{meant}") if meant else error


def _offset_rows(admin: "Admin", groups: "Sequence[GroupDescription]") -> "dict[str, list[OffsetRow]]":
    """The rows of all groups, with few requests to the brokers."""
    from gralha.cli.consumer_groups_description import offset_rows
    from gralha.cli.partition_offsets import committed_offsets, known_end_offsets

    committed = committed_offsets(admin, [group.group_id for group in groups])
    partitions: set[TopicPartition] = set()
    for group in groups:
        partitions.update(committed[group.group_id], *(member.assignment for member in group.members))
    ends = known_end_offsets(admin, partitions)
    return {group.group_id: offset_rows(group, committed[group.group_id], ends) for group in groups}


# Deleting


def _delete(admin: "Admin", options: Namespace) -> int:
    results = admin.delete_groups(_chosen(admin, options))
    failed = {group_id: error for group_id, error in results.items() if error is not None}
    deleted = ", ".join(f"'{group_id}'" for group_id in results if group_id not in failed)
    if not failed:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return 0
    print("\nError: Deletion of some consumer groups failed:")
    for group_id, error in failed.items():
        print(f"* Group '{group_id}' could not be deleted due to: {error}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")
    return EXIT_FAILED


def _delete_offsets(admin: "Admin", options: Namespace) -> int:
    from gralha.cli.partition_offsets import named_partitions
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError

    (group_id,) = options.group
    partitions, unknown_topics = named_partitions(admin, options.topic)
    results: dict[TopicPartition, KafkaError | None] = {}
    failure: str | None = None
    try:
        results |= admin.delete_group_offsets(group_id, partitions)
        if any(results.values()):
            failure = "Encountered some partition-level error, see the follow-up details."
    except KafkaError as error:
        failure = str(error)
        results |= dict.fromkeys(partitions, error)
    results |= {TopicPartition(topic, -1): error for topic, error in unknown_topics.items()}
    code = EXIT_FAILED if failure is not None or unknown_topics else 0
    if options.json:
        from gralha.cli.consumer_groups_json import deletion

        print_json(groups=[deletion(group_id, results)])
        return code
    print(
        f"Request succeeded for deleting offsets from group {group_id}."
        if failure is None
        else f"\nError: {failure}"
    )
    print(deletion_table(results), end="")
    return code


def deletion_table(results: "dict[TopicPartition, KafkaError | None]") -> str:
    """The result for each partition. The partitions of an unknown topic are not known."""
    from gralha.cli.consumer_groups_description import table

    lines = [
        [
            partition.topic,
            str(partition.partition) if partition.partition >= 0 else "-",
            "Successful" if error is None else f"Error: {error}",
        ]
        for partition, error in sorted(results.items(), key=lambda item: item[0])
    ]
    return table(["TOPIC", "PARTITION", "STATUS"], lines, [15, 10, 15], [0])


# Resetting


def _reset_offsets(admin: "Admin", options: Namespace) -> int:
    from gralha.cli.consumer_groups_reset import reset

    return reset(admin, options, _chosen(admin, options))
