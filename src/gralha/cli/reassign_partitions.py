"""kafka-reassign-partitions: moves partitions to other brokers, and shows, throttles or cancels the move."""

import contextlib
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gralha.cli.connect import open_admin
from gralha.cli.json_output import print_json
from gralha.cli.program import CommandError, one_line, run
from gralha.cli.reassign_partitions_options import DEFAULT_TIMEOUT_MS, RefusedError, parse_options
from gralha.cli.text_file import read_text
from gralha.cli.watching import show_until

if TYPE_CHECKING:
    from gralha.cli.reassignment_file import ReassignmentPlan, Replica
    from gralha.client.admin import Admin
    from gralha.client.reassignment_calls import Reassignment
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError

_WAIT_SECONDS = 0.2
_OTHERS_ARE_MOVING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this "
    "and create a new partition assignment in addition to the existing one. The --additional flag can also "
    "be used to change the throttle by resubmitting the current reassignment."
)
_RUN_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
    "is removed."
)


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    actions: dict[str, Callable[[Admin, Namespace], None]] = {
        "generate": _generate,
        "execute": _execute,
        "verify": _verify,
        "cancel": _cancel,
        "list": _list,
    }
    return run(lambda _: _act(actions[options.action], options), [], prefix="Error: ")


def _act(action: "Callable[[Admin, Namespace], None]", options: Namespace) -> int:
    with open_admin(options, "reassign-partitions-tool") as admin:
        try:
            action(admin, options)
        except RefusedError as refusal:
            sys.stdout.flush()
            print(refusal, file=sys.stderr)
            return 1
    return 0


def _plan(options: Namespace) -> str:
    return read_text(options.reassignment_json_file, "the reassignment file")


# --- list and verify ----------------------------------------------------------------------------------


def _list(admin: "Admin", options: Namespace) -> None:
    moving = admin.list_reassignments()
    if not options.json:
        print(list_text(moving))
        return
    print_json(
        reassignments=[
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "replicas": one.replicas,
                "adding": one.adding,
                "removing": one.removing,
            }
            for partition, one in sorted(moving.items())
        ]
    )


def list_text(reassignments: "Mapping[TopicPartition, Reassignment]") -> str:
    """The lines of --list."""
    if not reassignments:
        return "No partition reassignments found."
    lines = ["Current partition reassignments:"]
    for partition, one in sorted(reassignments.items()):
        adding = f" adding: {_comma(one.adding)}." if one.adding else ""
        removing = f" removing: {_comma(one.removing)}." if one.removing else ""
        lines.append(f"{partition}: replicas: {_comma(one.replicas)}.{adding}{removing}")
    return "\n".join(lines)


def _verify(admin: "Admin", options: Namespace) -> None:
    """Shows the state of the moves. With --watch again and again, until all are done."""
    if options.watch is None:
        _show_state(admin, options)
        return
    with contextlib.suppress(KeyboardInterrupt):
        show_until(lambda: not _show_state(admin, options), options.watch)


def _show_state(admin: "Admin", options: Namespace) -> bool:
    """Prints the state of the moves, and removes the throttles at their end. Returns True if some go on."""
    from gralha.cli.reassignment_file import parse_plan
    from gralha.cli.reassignment_throttles import clear_throttles
    from gralha.cli.reassignment_verification import verification
    from gralha.cli.replica_moves import folders_of, is_moving, state_text

    plan = parse_plan(_plan(options))
    moving = admin.list_reassignments()
    settled = [partition for partition in plan.replicas() if partition not in moving]
    current = _replicas_or_none(admin, settled)
    folders = folders_of(admin, plan.folders)
    if options.json:
        print_json(**verification(plan, current, folders))
    else:
        print("Status of partition reassignment:")
        for partition, target in sorted(plan.replicas().items()):
            print(_partition_text(partition, current.get(partition), target))
        texts = (state_text(one, folders[one], plan.folders[one]) for one in sorted(folders))
        print("\n".join(texts), flush=True)
    between_folders = any(map(is_moving, folders.values()))
    if not moving and not between_folders and not options.preserve_throttles:
        clear_throttles(admin, plan.replicas(), silent=options.json)
    return between_folders or any(partition in moving for partition in plan.replicas())


def _wait(admin: "Admin", options: Namespace, plan: "ReassignmentPlan") -> None:
    """Waits for the end of the moves, and shows how many partitions are done whenever that changes."""
    from gralha.cli.replica_moves import folders_of, is_moving

    targets = plan.replicas()
    shown = ""
    while True:
        moving = admin.list_reassignments(targets)
        left = {partition for partition, one in moving.items() if one.adding or one.removing}
        left |= {
            one.partition for one, folders in folders_of(admin, plan.folders).items() if is_moving(folders)
        }
        progress = f"{len(targets) - len(left)} of {len(targets)} partitions have moved"
        if progress != shown:
            print(progress, flush=True)
            shown = progress
        if not left:
            break
        time.sleep(_WAIT_SECONDS)
    _show_state(admin, options)


def _partition_text(partition: "TopicPartition", current: list[int] | None, target: list[int]) -> str:
    if current is None:
        return f"Reassignment of partition {partition} is still in progress."
    if current == target:
        return f"Reassignment of partition {partition} is completed."
    return (
        f"There is no active reassignment of partition {partition}, but replica set is {_comma(current)} "
        f"rather than {_comma(target)}."
    )


def _replicas_or_none(
    admin: "Admin", partitions: "Sequence[TopicPartition]"
) -> "dict[TopicPartition, list[int]]":
    """The replicas of partitions. Partitions that do not exist have none."""
    from gralha.client.cluster import UNKNOWN_TOPIC_CODES
    from gralha.client.values import TopicDescription

    topics = admin.describe_topics(sorted({partition.topic for partition in partitions}))
    replicas: dict[TopicPartition, list[int]] = {partition: [] for partition in partitions}
    for name, topic in topics.items():
        if not isinstance(topic, TopicDescription):
            if topic.code not in UNKNOWN_TOPIC_CODES:
                raise topic
            continue
        held = {one.partition: one.replicas for one in topic.partitions}
        for partition in partitions:
            if partition.topic == name:
                replicas[partition] = held.get(partition.partition, [])
    return replicas


# --- generate -----------------------------------------------------------------------------------------


def _generate(admin: "Admin", options: Namespace) -> None:
    from gralha.cli.reassignment_file import parse_brokers, parse_topics, plan_text
    from gralha.cli.reassignment_proposal import propose, racks_of

    brokers = parse_brokers(options.broker_list)
    topics = parse_topics(read_text(options.topics_to_move_json_file, "the file of topics"))
    current = _replicas_of_topics(admin, topics)
    folders = _known_folders(admin, current)
    nodes = [node for node in admin.describe_cluster().nodes if node.id in brokers]
    proposed = propose(current, racks_of(nodes, rack_aware=not options.disable_rack_aware))
    print(f"Current partition replica assignment\n{plan_text(current, folders)}\n")
    print(f"Proposed partition reassignment configuration\n{plan_text(proposed)}")


def _replicas_of_topics(admin: "Admin", topics: Iterable[str]) -> "dict[TopicPartition, list[int]]":
    from gralha.client.cluster import UNKNOWN_TOPIC_CODES
    from gralha.client.values import TopicDescription, TopicPartition

    replicas = {}
    for name, topic in admin.describe_topics(topics).items():
        if not isinstance(topic, TopicDescription):
            if topic.code in UNKNOWN_TOPIC_CODES:
                raise CommandError(f"Topic {name} not found.")
            raise topic
        for one in topic.partitions:
            replicas[TopicPartition(name, one.partition)] = one.replicas
    return replicas


def _known_folders(
    admin: "Admin", replicas: "Mapping[TopicPartition, Sequence[int]]"
) -> "dict[Replica, str]":
    """The folders of replicas on live brokers."""
    from gralha.cli.reassignment_file import Replica
    from gralha.cli.replica_moves import folders_of

    alive = admin.cluster.brokers()
    wanted = [
        Replica(broker, partition)
        for partition, brokers in replicas.items()
        for broker in brokers
        if broker in alive
    ]
    found = folders_of(admin, wanted)
    return {replica: folders.current for replica, folders in found.items() if folders.current is not None}


# --- execute ------------------------------------------------------------------------------------------


def _execute(admin: "Admin", options: Namespace) -> None:
    from gralha.cli.reassignment_file import parse_plan_to_execute, plan_text

    plan = parse_plan_to_execute(_plan(options))
    moving = admin.list_reassignments()
    if moving and not options.additional:
        raise RefusedError(_OTHERS_ARE_MOVING)
    targets = plan.replicas()
    known = admin.describe_cluster().broker_ids
    unknown = sorted({broker for target in targets.values() for broker in target} - set(known))
    if unknown:
        raise CommandError(f"Unknown broker id {unknown[0]}")
    current = _replicas_of_topics(admin, sorted({partition.topic for partition in targets}))
    missing = sorted(set(targets) - set(current))
    if missing:
        raise CommandError(f"Unable to find partition: {', '.join(map(str, missing))}")
    current = {partition: current[partition] for partition in targets}
    print(
        f"Current partition replica assignment\n\n{plan_text(current, _known_folders(admin, current))}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback",
        flush=True,
    )
    _throttle(admin, options, plan, moving, current)
    _begin(admin, options, plan)


def _throttle(
    admin: "Admin",
    options: Namespace,
    plan: "ReassignmentPlan",
    moving: "Mapping[TopicPartition, Reassignment]",
    current: "Mapping[TopicPartition, Sequence[int]]",
) -> None:
    from gralha.cli.reassignment_throttles import moves_of, throttle_folders, throttle_moves

    between_brokers = -1 if options.throttle is None else options.throttle
    folder_option = options.replica_alter_log_dirs_throttle
    between_folders = -1 if folder_option is None else folder_option
    if between_brokers < 0 and between_folders < 0:
        return
    print(_RUN_VERIFY)
    if between_brokers >= 0:
        throttle_moves(admin, moves_of(moving, plan.replicas(), current), between_brokers)
    if between_folders >= 0:
        throttle_folders(admin, {replica.broker for replica in plan.folders}, between_folders)


def _begin(admin: "Admin", options: Namespace, plan: "ReassignmentPlan") -> None:
    from gralha.cli.replica_moves import begin_moves

    targets = plan.replicas()
    allowed = not options.disallow_replication_factor_change
    results = admin.alter_reassignments(targets, allow_replication_factor_change=allowed)
    errors = _error_lines(results)
    if errors:
        raise RefusedError("\n".join(["Error reassigning partition(s):", *errors]))
    plural = "" if len(targets) == 1 else "s"
    print(f"Successfully started partition reassignment{plural} for {_comma(sorted(targets))}", flush=True)
    if plan.folders:
        begin_moves(admin, plan.folders, _timeout_ms(options))
    if options.wait:
        try:
            _wait(admin, options, plan)
        except KeyboardInterrupt:
            print("The moves go on. --verify shows their state.", file=sys.stderr)
            raise


def _error_lines(results: "Mapping[TopicPartition, KafkaError | None]") -> list[str]:
    return [
        f"{partition}: {one_line(str(results[partition]))}"
        for partition in sorted(results)
        if results[partition] is not None
    ]


def _timeout_ms(options: Namespace) -> int:
    return DEFAULT_TIMEOUT_MS if options.timeout is None else int(options.timeout)


# --- cancel -------------------------------------------------------------------------------------------


def _cancel(admin: "Admin", options: Namespace) -> None:
    from gralha.cli.reassignment_file import parse_plan
    from gralha.cli.reassignment_throttles import clear_throttles
    from gralha.cli.replica_moves import begin_moves, folders_of

    plan = parse_plan(_plan(options))
    moving = sorted(
        partition
        for partition, one in admin.list_reassignments(plan.replicas()).items()
        if one.adding or one.removing
    )
    if moving:
        _call_off(admin, moving)
    else:
        print("None of the specified partition reassignments are active.")
    # Another move, back to the replica's current folder, cancels a move between folders.
    back = {
        replica: folders.current
        for replica, folders in folders_of(admin, plan.folders).items()
        if folders.current is not None and folders.future is not None
    }
    if back:
        begin_moves(admin, back, _timeout_ms(options))
    else:
        # Without a line break, as Kafka prints.
        print("None of the specified partition moves are active.", end="", flush=True)
    if not options.preserve_throttles:
        clear_throttles(admin, plan.replicas())


def _call_off(admin: "Admin", partitions: "Sequence[TopicPartition]") -> None:
    errors = _error_lines(admin.alter_reassignments(dict.fromkeys(partitions)))
    if errors:
        plural = "" if len(errors) == 1 else "s"
        raise RefusedError("\n".join([f"Error cancelling partition reassignment{plural} for:", *errors]))
    plural = "" if len(partitions) == 1 else "s"
    print(f"Successfully cancelled partition reassignment{plural} for: {_comma(partitions)}", flush=True)


def _comma(items: Iterable[object]) -> str:
    return ",".join(map(str, items))
