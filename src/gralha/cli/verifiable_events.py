"""What kafka-verifiable-producer and kafka-verifiable-consumer share: JSON events, and a stop at a signal.

Test programs start these commands, read one event from each line of standard output, and end the commands
with a signal.
"""

import json
import signal
import time
from types import FrameType
from typing import Any

from gralha.cli.program import EXIT_INTERRUPTED, EXIT_TERMINATED

_EXIT_CODES = {signal.SIGINT: EXIT_INTERRUPTED, signal.SIGTERM: EXIT_TERMINATED}


def announce(name: str, **fields: Any) -> None:
    """Prints an event at once. The fields keep their order."""
    event = {"timestamp": int(time.time() * 1000), "name": name, **fields}
    print(json.dumps(event, ensure_ascii=False, separators=(",", ":")), flush=True)


class StopSignal:
    """Remembers Ctrl-C or SIGTERM, so that the command can finish its work. A second one ends it at once.

    Only the main thread can create it.
    """

    def __init__(self) -> None:
        self.exit_code = 0
        for number in _EXIT_CODES:
            signal.signal(number, self._remember)

    def __bool__(self) -> bool:
        return self.exit_code != 0

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        if self:
            raise KeyboardInterrupt
        self.exit_code = _EXIT_CODES[signal.Signals(number)]


def choose_config(command_config: str | None, old_config: str | None, old_name: str) -> str | None:
    """The properties file, which has two option names. Kafka prints the warning between the events, too."""
    if old_config is None:
        return command_config
    print(
        f"Option {old_name} has been deprecated and will be removed in a future version. "
        "Use --command-config instead.",
        flush=True,
    )
    return old_config
