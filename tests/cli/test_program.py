import subprocess
import sys

import pytest

from gralha.cli.program import CommandError, Terminated, one_line, run
from gralha.client.errors import ConnectionFailedError
from gralha.protocol.errors import TopicAlreadyExistsError


def raising(error: BaseException) -> int:
    def body(_arguments: list[str]) -> int:
        raise error

    return run(body, [], prefix="Error : ")


@pytest.mark.parametrize(
    "error",
    [CommandError("it is so"), ConnectionFailedError("it is so"), TopicAlreadyExistsError("it is\nso")],
)
def test_an_expected_failure_is_one_line_on_standard_error(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == 1
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "Error : it is so\n")


def test_a_defect_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError())


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (Terminated(), 143)])
def test_an_interrupted_command_is_quiet(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == code
    assert capsys.readouterr() == ("", "")


def test_the_bodys_code_is_the_commands_code() -> None:
    assert run(lambda arguments: len(arguments), ["a", "b", "c"]) == 3


def test_a_reader_that_went_away_is_no_error_to_speak_of() -> None:
    program = (
        "import sys\n"
        "from gralha.cli.program import run\n"
        "sys.exit(run(lambda _: [print('x' * 100) for _ in range(10000)] and 0, []))"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    command.stdout.close()
    assert command.stderr is not None
    assert command.stderr.read() == b""
    assert command.wait(10) == 141


def test_one_line() -> None:
    assert one_line("a\nb ") == "a b"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_shell_closed_is_no_reason_to_fail(closed: str) -> None:
    program = (
        "import sys\n"
        "from gralha.cli.program import run\n"
        "def body(_arguments):\n"
        "    print('out')\n"
        "    print('err', file=sys.stderr)\n"
        "    sys.stdin.read()\n"
        "    return 7\n"
        "sys.exit(run(body, []))"
    )
    line = ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, program]
    result = subprocess.run(line, capture_output=True, text=True, timeout=30)
    assert result.returncode == 7
    assert result.stdout == ("" if ">&-" in closed.split() else "out\n")
    assert result.stderr == ("" if "2>&-" in closed else "err\n")
