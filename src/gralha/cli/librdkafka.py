"""Translates Kafka's client properties for librdkafka, and creates its producers and consumers.

Most names are the same and a few differ. Properties that matter only to the JVM are dropped. A name that
librdkafka does not know is reported and left out, as Java clients do.
"""

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from gralha.cli.librdkafka_tls import TRANSLATED, tls_settings
from gralha.cli.program import CommandError
from gralha.cli.suggestions import did_you_mean

Client = TypeVar("Client")
Result = TypeVar("Result")

_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_DROPPED = frozenset(
    {
        "auto.include.jmx.reporter",
        "client.dns.lookup",
        "default.api.timeout.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.class",
        "value.deserializer",
        "value.serializer",
    }
)
_ASSIGNORS = {
    "CooperativeStickyAssignor": "cooperative-sticky",
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
}
# Properties that people set, for "did you mean". librdkafka knows many more.
KNOWN = (
    *_RENAMED,
    *TRANSLATED,
    *("acks", "allow.auto.create.topics", "auto.commit.interval.ms", "auto.offset.reset", "batch.size"),
    *("bootstrap.servers", "client.id", "compression.type", "delivery.timeout.ms", "enable.auto.commit"),
    *("enable.idempotence", "fetch.max.bytes", "fetch.min.bytes", "group.id", "group.instance.id"),
    *("group.protocol", "heartbeat.interval.ms", "isolation.level", "linger.ms", "max.poll.interval.ms"),
    *("message.timeout.ms", "metadata.max.age.ms", "partition.assignment.strategy", "request.timeout.ms"),
    *("retries", "retry.backoff.ms", "sasl.mechanism", "sasl.jaas.config", "security.protocol"),
    *("session.timeout.ms", "socket.timeout.ms", "statistics.interval.ms", "transactional.id"),
)
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;]+))""")
_NOT_FOR_PEOPLE = re.compile(r"^Unable to produce message: |^\w+://\S+: | \(after \d+ms in state [^)]*\)$")
_UNKNOWN_PROPERTY = re.compile(r'No such configuration property: "([^"]+)"')


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, Any]:
    """The same settings with librdkafka's names and units."""
    settings: dict[str, Any] = {}
    for name, value in properties.items():
        if name in _DROPPED or name in TRANSLATED:
            continue
        if name == "buffer.memory":
            settings["queue.buffering.max.kbytes"] = max(1, _integer(name, value) // 1024)
        elif name == "sasl.jaas.config":
            settings.update(_jaas_credentials(value))
        elif name == "metadata.max.age.ms":
            # In Kafka this is also the interval for finding new topics and partitions.
            settings |= {name: value, "topic.metadata.refresh.interval.ms": value}
        elif name == "auto.offset.reset" and value == "none":
            settings[name] = "error"
        elif name == "partition.assignment.strategy":
            settings[name] = ",".join(_assignor(part.strip()) for part in value.split(","))
        else:
            settings[_RENAMED.get(name, name)] = value
    return settings | tls_settings(properties)


def create(client_class: Callable[[dict[str, Any]], Client], settings: dict[str, Any]) -> Client:
    """Creates a producer or consumer. Unknown settings are reported and left out."""
    while True:
        try:
            return client_class(settings)
        except KafkaException as error:
            reason = error.args[0]
            text = reason.str() if isinstance(reason, KafkaError) else str(reason)
            unknown = _UNKNOWN_PROPERTY.search(text)
            if unknown is None or unknown[1] not in settings:
                raise CommandError(f"Wrong client property: {text}") from None
            meant = did_you_mean(unknown[1], KNOWN)
            print(
                f"Ignoring the client property {unknown[1]}: librdkafka does not know it"
                + (f".{meant}" if meant else ""),
                file=sys.stderr,
            )
            settings = {name: value for name, value in settings.items() if name != unknown[1]}


def served(call: Callable[..., Result], *arguments: Any) -> Result:
    """Calls a function of a client that serves callbacks: poll, consume or flush. Raises KafkaException.

    After a fatal error confluent-kafka sometimes raises the KafkaError itself. It is no exception of Python,
    so only a bare except catches it.
    """
    fatal = None
    try:
        return call(*arguments)
    except Exception:
        raise
    except:  # noqa: E722
        fatal = sys.exc_info()[1]
    if isinstance(fatal, BaseException):
        raise fatal
    raise KafkaException(fatal)


def reason_of(error: KafkaError) -> str:
    """The message of a librdkafka error for a person, without its log prefixes."""
    text = error.str() or error.name()
    text = text.rpartition("]: ")[2] or text
    return _NOT_FOR_PEOPLE.sub("", text)


def _integer(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise CommandError(f"{name} must be a number, not '{value}'") from None


def _assignor(name: str) -> str:
    """The assignor of a classic group, from its Java class or librdkafka's name."""
    assignor = _ASSIGNORS.get(name.rpartition(".")[2], name)
    if assignor not in _ASSIGNORS.values():
        raise CommandError(f"Unknown assignor {name}: use one of {', '.join(_ASSIGNORS)}")
    return assignor


def _jaas_credentials(jaas: str) -> dict[str, str]:
    """The user name and password of a JAAS line. librdkafka takes them separately."""
    options = {match[1]: next(filter(None, match.groups()[1:]), "") for match in _JAAS_OPTION.finditer(jaas)}
    if options.get("tokenauth", "").lower() == "true":
        raise CommandError(
            "librdkafka, with which this command reads and writes records, cannot log in with a delegation "
            "token (tokenauth). Use a user with a password"
        )
    return {f"sasl.{name}": options[name] for name in ("username", "password") if name in options}


def quiet_settings() -> dict[str, Any]:
    """Settings that keep librdkafka's log off the terminal. If no broker answers, one line says so.

    An error that a new attempt cannot fix (no TLS on that port, a wrong password) ends the command, as with
    Kafka's own commands.
    """
    hopeless = {KafkaError._SSL, KafkaError._AUTHENTICATION}
    reported: set[int] = set()

    def report(error: KafkaError) -> None:
        code = error.code()
        if not hopeless.isdisjoint(reported):
            # librdkafka reports more errors before the raised one reaches the caller.
            return
        if code in hopeless:
            reported.add(code)
            raise CommandError(f"No connection to the cluster: {reason_of(error)}")
        if error.fatal():
            print(reason_of(error), file=sys.stderr)
        elif code == KafkaError._ALL_BROKERS_DOWN and code not in reported:
            reported.add(code)
            print("No broker answers. Trying again", file=sys.stderr)

    return {"log_level": 0, "error_cb": report}
