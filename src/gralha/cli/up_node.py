"""One of several brokers of `gralha up`. Its errors speak of the options of `gralha up`."""

import sys

from gralha.cli.program import run
from gralha.cli.server import announce_ready, log_to_stderr, serve
from gralha.cli.text_file import read_text
from gralha.cli.up_settings import ADVICE


def main(arguments: list[str] | None = None) -> int:
    return run(_serve, arguments)


def _serve(arguments: list[str]) -> int:
    (file,) = arguments
    log_to_stderr()
    return serve(read_text(file, "the properties file"), file, announce_ready, advice=ADVICE)


if __name__ == "__main__":
    sys.exit(main())
