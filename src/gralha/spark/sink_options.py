"""The options of the sink, checked on the driver before a task runs."""

import difflib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gralha.client.settings import ClientSettings
from gralha.spark.checkpoint_files import is_on_this_machine, local_file_of
from gralha.spark.decision_log import DEFAULT_TOPIC
from gralha.spark.decisions import ExactlyOnceError
from gralha.spark.input_progress import InputProgress, NoProgressError, from_option, progress_of
from gralha.spark.option_values import OptionError, boolean, integer
from gralha.spark.secrets import without_references

logger = logging.getLogger(__name__)

KAFKA_PREFIX: Final = "kafka."
# The beginnings of the names of settings about TLS and logins.
_SECURITY: Final = ("security.", "sasl.", "ssl.")
REFUSED: Final = ("key.serializer", "value.serializer")
AT_LEAST_ONCE: Final = "at-least-once"
EXACTLY_ONCE: Final = "exactly-once"
GUARANTEES: Final = (AT_LEAST_ONCE, EXACTLY_ONCE)
OPTIONS: Final = (
    "topic",
    "deliveryGuarantee",
    "decisionTopic",
    "txnAppId",
    "txnVersion",
    "groupId",
    "groupOffsets",
    "twoPhaseCommit",
)


@dataclass(frozen=True)
class ExactlyOnceOptions:
    """The options that count only with deliveryGuarantee=exactly-once."""

    # The name of the sink in the decisions of its query.
    sink: str
    decision_topic: str
    # A batch query has no number of its own. A program that repeats a write gives it the same one.
    application: str | None = None
    version: int | None = None
    # The consumer group that shows the progress of the input, and where the offsets of a batch come from: the
    # checkpoint of a stream, or an option of a batch write.
    group: str | None = None
    checkpoint: str | None = None
    offsets: str | None = None
    # Transactions of tasks have no timeout (KIP-939).
    two_phase_commit: bool = False

    def progress(self, batch: int) -> InputProgress | None:
        """The input of a batch. None without a group."""
        if self.group is None:
            return None
        try:
            if self.offsets is not None:
                return from_option(self.group, self.offsets)
            return progress_of(self.group, batch, local_file_of(self.checkpoint or ""))
        except NoProgressError as error:
            where = "groupOffsets" if self.offsets is not None else f"checkpoint {self.checkpoint}"
            raise ExactlyOnceError(
                f"The offsets of batch {batch} for the consumer group {self.group} are not in its {where}: "
                f"{error}."
            ) from error


def check_names(options: Mapping[str, str]) -> None:
    """Raises OptionError if an option looks misspelt, because one letter would cost the guarantee."""
    known = {name.lower(): name for name in OPTIONS}
    for name in options:
        close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.85)
        if close and name.lower() not in known:
            raise OptionError(f"Option '{name}' is not known: did you mean '{known[close[0]]}'?")


def exactly_once_options(options: Mapping[str, str], *, streaming: bool) -> ExactlyOnceOptions | None:
    """The options for exactly-once delivery, or None without it. Raises OptionError if one is wrong."""
    check_names(options)
    guarantee = options.get("deliveryGuarantee", AT_LEAST_ONCE).strip().lower()
    if guarantee not in GUARANTEES:
        raise OptionError(
            f"Option 'deliveryGuarantee' is '{options['deliveryGuarantee']}': write "
            f"{' or '.join(GUARANTEES)}."
        )
    if guarantee == AT_LEAST_ONCE:
        if boolean(options, "twoPhaseCommit", default=False):
            raise OptionError("Option 'twoPhaseCommit' needs deliveryGuarantee=exactly-once.")
        if options.get("groupId") is not None:
            raise OptionError(
                "Option 'groupId' of a sink needs deliveryGuarantee=exactly-once. The groupId of the source "
                "shows the lag of every stream."
            )
        return None
    for name in ("kafka.transactional.id", "kafka.transaction.timeout.ms"):
        if options.get(name) is not None:
            raise OptionError(
                f"Option '{name}' cannot be set: an exactly-once sink chooses it for each task."
            )
    application, version = options.get("txnAppId"), integer(options, "txnVersion", lowest=0)
    if not streaming and (application is None or not application.strip() or version is None):
        raise OptionError(
            "deliveryGuarantee=exactly-once needs the options 'txnAppId' (a name for the program) and "
            "'txnVersion' (a number that grows with each write, and is the same if a write is repeated). "
            "Without these nobody can tell a repeated write from a new one."
        )
    if streaming and (application is not None or version is not None):
        raise OptionError(
            "The options 'txnAppId' and 'txnVersion' are for batch writes: a streaming query has an id and "
            "numbers its batches itself."
        )
    return ExactlyOnceOptions(
        sink=options.get("topic") or "*",
        decision_topic=options.get("decisionTopic") or DEFAULT_TOPIC,
        application=application,
        version=version,
        two_phase_commit=boolean(options, "twoPhaseCommit", default=False),
        **_group(options, streaming),
    )


def _group(options: Mapping[str, str], streaming: bool) -> dict[str, str | None]:
    """The options about a consumer group, checked."""
    group, offsets = options.get("groupId"), options.get("groupOffsets")
    if group is None:
        if offsets is not None:
            raise OptionError("Option 'groupOffsets' needs the option 'groupId'.")
        return {}
    if not group.strip():
        raise OptionError("Option 'groupId' is empty: name a consumer group, or remove it.")
    if not streaming:
        if offsets is None:
            raise OptionError(
                "Option 'groupId' of a batch write needs 'groupOffsets', the offsets after this batch, for "
                'example {"sales": {"0": 42}}. write_each_batch finds them itself.'
            )
        try:
            from_option(group, offsets)
        except NoProgressError as error:
            raise OptionError(f"Option 'groupOffsets' is wrong: {error}") from error
        return {"group": group, "offsets": offsets}
    checkpoint = options.get("checkpointLocation")
    if offsets is not None or checkpoint is None or not is_on_this_machine(checkpoint):
        raise OptionError(
            "Option 'groupId' of a stream's sink needs the option 'checkpointLocation' with a folder on the "
            "driver's machine: the sink reads the offsets of a batch from it. With another file system use "
            "foreachBatch(write_each_batch(...)), which reads the checkpoint through Spark."
        )
    return {"group": group, "checkpoint": checkpoint}


def kafka_settings(options: Mapping[str, str]) -> dict[str, str]:
    """The producer's settings, with Kafka's names. Settings without references to secrets are checked."""
    kafka = {
        name.lower().removeprefix(KAFKA_PREFIX): value
        for name, value in options.items()
        if name.lower().startswith(KAFKA_PREFIX)
    }
    if not kafka.get("bootstrap.servers", "").strip():
        raise OptionError(
            "Option 'kafka.bootstrap.servers' is not set: write the address of a broker, "
            "for example localhost:9092."
        )
    for name in REFUSED:
        if name in kafka:
            raise OptionError(
                f"Option 'kafka.{name}' cannot be set: keys and values are written as binary or UTF-8 "
                "strings. Convert them with DataFrame operations."
            )
    for name in ClientSettings.from_kafka(_checkable(kafka)).unknown:
        logger.warning("Option 'kafka.%s' is not known to Kafka's clients and has no effect.", name)
    return kafka


def _checkable(kafka: Mapping[str, str]) -> dict[str, str]:
    """The settings that can be checked without secrets. The address may be a reference, too.

    The settings of TLS and logins belong together, so a reference in one of them leaves all of them out.
    """
    known = {"bootstrap.servers": "localhost:9092", **without_references(kafka)}
    if any(name.startswith(_SECURITY) and name not in known for name in kafka):
        return {name: value for name, value in known.items() if not name.startswith(_SECURITY)}
    return known
