"""The audit log: a JSON line for each denial and each change of ACLs, topics, configs, users and tokens.

The lines go to the logger `gralha.audit`: changes at INFO, denials at WARN. `kafka-configs --entity-type
broker-loggers` changes its level while the node runs. A line has no values of settings and no passwords.

A client may be denied many times in a second. After the first lines of a second, denials are only counted,
and the next line has the number, so that a flood of denials does not stop the event loop.
"""

import json
import logging
from collections.abc import Callable
from typing import Final

from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation, ResourceType

DENIALS_PER_SECOND: Final = 50
# Longer names are cut, so that nobody fills a disk with them. Topics have at most 249 characters.
NAME_LENGTH_MAX: Final = 256

log = logging.getLogger("gralha.audit")


class Audit:
    """Writes the lines. `clock` is the wall-clock time in milliseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._second = -1
        self._in_second = 0
        self._left_out = 0

    def denied(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType, name: str
    ) -> None:
        """The caller asked for something that it may not do."""
        if not log.isEnabledFor(logging.WARNING):
            return
        second = self._clock() // 1000
        if second != self._second:
            self._second = second
            self._in_second = 0
        self._in_second += 1
        if self._in_second > DENIALS_PER_SECOND:
            self._left_out += 1
            return
        line = {
            "event": "denied",
            **_caller(context),
            "operation": operation.name,
            "resource_type": resource_type.name,
            "resource": name[:NAME_LENGTH_MAX],
        }
        if self._left_out:
            line["denials_left_out"] = self._left_out
            self._left_out = 0
        log.warning("%s", json.dumps(line))

    def changed(self, context: RequestContext, what: str, **details: object) -> None:
        """The caller has changed something. `details` say what; they have no secrets."""
        if log.isEnabledFor(logging.INFO):
            log.info("%s", json.dumps({"event": what, **_caller(context), "result": "allowed", **details}))


def _caller(context: RequestContext) -> dict[str, object]:
    peer = context.peer
    return {
        "principal": "this node" if peer.is_this_node else peer.principal,
        "host": peer.host,
        "listener": peer.listener,
        "client_id": None if context.client_id is None else context.client_id[:NAME_LENGTH_MAX],
    }
