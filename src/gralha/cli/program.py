"""The frame of every command: errors become one line, Ctrl-C and a closed pipe stay quiet.

A command's `main` gives its body to `run`. The body takes the arguments and returns the exit code. It raises
`CommandError` for a mistake of a person, and does not catch `ClientError` and `KafkaError`. The modules of
these two are imported only after an error, because their import takes time.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

from gralha.cli.colour import red

Body = Callable[[list[str]], int]

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXIT_TERMINATED = 143


class CommandError(Exception):
    """Ends a command with one line on standard error. The line says what happened and what to do."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, for a command that has to clean up before it ends."""


def stop_on_terminate() -> None:
    """Makes SIGTERM (`timeout 5 kafka-...`) end the command as Ctrl-C does."""

    def raise_terminated(_signal: int, _frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, raise_terminated)


def run(body: Body, arguments: Sequence[str] | None = None, *, prefix: str = "") -> int:
    """Runs a command's body and returns its exit code. `prefix` begins the line of every failure."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    _open_standard_streams()
    try:
        code = body(argv)
        sys.stdout.flush()
        return code
    except Terminated:
        return EXIT_TERMINATED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return EXIT_BROKEN_PIPE
    except Exception as error:
        return _fail(error, prefix)


def _open_standard_streams() -> None:
    """Opens streams that the shell has closed (`>&-`) on /dev/null, because Python has None for them.

    They are opened in the order of their descriptors, so each gets its own number back. A file or socket that
    is opened later cannot get the number of standard output.
    """
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY))
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _fail(error: Exception, prefix: str) -> int:
    if not isinstance(error, CommandError) and not _is_expected(error):
        raise error
    try:
        sys.stdout.flush()
        print(red(one_line(f"{prefix}{error}"), sys.stderr), file=sys.stderr)
    except BrokenPipeError:
        _discard_output()
    return EXIT_FAILED


def _is_expected(error: Exception) -> bool:
    """Returns True if the cluster answered with an error or did not answer. Other errors are bugs."""
    from gralha.client.errors import ClientError
    from gralha.protocol.errors import KafkaError

    return isinstance(error, ClientError | KafkaError)


def one_line(text: str) -> str:
    """The text without line breaks. A message of a broker may have several lines."""
    return " ".join(text.split("\n")).strip()


def _discard_output() -> None:
    """Discards buffered output, so that the interpreter does not complain at its exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
