"""The options of the sink, checked on the driver before a task runs."""

import difflib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gralha.client.settings import ClientSettings
from gralha.spark.decision_log import DEFAULT_TOPIC
from gralha.spark.option_values import OptionError, integer
from gralha.spark.secrets import without_references

logger = logging.getLogger(__name__)

KAFKA_PREFIX: Final = "kafka."
REFUSED: Final = ("key.serializer", "value.serializer")
AT_LEAST_ONCE: Final = "at-least-once"
EXACTLY_ONCE: Final = "exactly-once"
GUARANTEES: Final = (AT_LEAST_ONCE, EXACTLY_ONCE)
OPTIONS: Final = ("topic", "deliveryGuarantee", "decisionTopic", "txnAppId", "txnVersion")


@dataclass(frozen=True)
class ExactlyOnceOptions:
    """The options that count only with deliveryGuarantee=exactly-once."""

    # The name of the sink in the decisions of its query.
    sink: str
    decision_topic: str
    # A batch query has no number of its own. A program that repeats a write gives it the same one.
    application: str | None = None
    version: int | None = None


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
    )


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
    # The address may be a reference, too.
    checked = {"bootstrap.servers": "localhost:9092", **without_references(kafka)}
    for name in ClientSettings.from_kafka(checked).unknown:
        logger.warning("Option 'kafka.%s' is not known to Kafka's clients and has no effect.", name)
    return kafka
