"""Tables, lines that change in place, and the output of a run."""

from __future__ import annotations

import io
import re

import pytest

from gralha.cli.pipeline_view import RunView, describe
from gralha.pipelines.events import Event, Failed, Progressed, Restarting, Started, Stopped, Warned
from gralha.pipelines.progress import Progress
from gralha.pipelines.table_view import COLOUR, LiveLines, cut, table


class Screen(io.StringIO):
    """A stream that is a terminal, and its screen."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """The lines on the screen, without colours."""
        shown: list[str] = []
        for piece in re.split(r"(\n|\x1b\[1A\x1b\[2K)", COLOUR.sub("", self.getvalue())):
            if piece == "\x1b[1A\x1b[2K":
                shown.pop()
            elif piece and piece != "\n":
                shown.append(piece)
        return shown


def test_numbers_stand_to_the_right() -> None:
    assert table(["product", "sold", "total"], [["tea", 1200, 3.5], ["cake", 7, 1234.0]]) == [
        "product   sold     total",
        "tea      1,200      3.50",
        "cake         7  1,234.00",
    ]
    assert table(["product", "sold"], []) == ["product  sold"]


def test_lines_change_in_their_place_and_words_stay_above() -> None:
    screen = Screen()
    live = LiveLines(screen)
    live.draw(["one 1", "two 1"])
    live.draw(["one 2", "two 2"])
    assert screen.lines() == ["one 2", "two 2"]
    live.say("something happened")
    live.draw(["one 3", "two 3"])
    assert screen.lines() == ["something happened", "one 3", "two 3"]
    live.end()
    live.say("below")
    assert screen.lines() == ["something happened", "one 3", "two 3", "below"]


def test_without_a_terminal_only_words_are_written() -> None:
    stream = io.StringIO()
    live = LiveLines(stream)
    live.draw(["one"])
    live.say("word")
    assert stream.getvalue() == "word\n"


def test_a_run_on_a_terminal() -> None:
    screen = Screen()
    view = RunView(["totals", "all"], screen)
    view.draw()
    assert screen.lines() == ["totals  is planned", "all     is planned"]
    view.show(Started("totals", 1, resumes=False))
    view.show(Progressed("totals", Progress("totals", 3, "", lag=0)))
    assert screen.lines() == [
        "totals  started, from the beginning",
        "totals  batch 3  in 0/s  done 0/s  lag 0  0.0 s",
        "all     is planned",
    ]
    view.show(Warned("totals", "Look here."))
    view.show(Stopped("totals"))
    view.end()
    assert screen.lines() == [
        "totals  started, from the beginning",
        "totals  warning: Look here.",
        "totals  stopped",
    ]


def test_a_colour_takes_no_place() -> None:
    red = "\x1b[31mfailed\x1b[0m"
    assert table(["name", "state", "lag"], [["a", red, 1], ["b", "runs", 20]]) == [
        "name  state   lag",
        f"a     {red}    1",
        "b     runs     20",
    ]
    assert cut(f"a {red} b", 9) == f"a {red} "
    assert cut(f"a {red} b", 5) == "a \x1b[31mfai\x1b[0m"
    assert cut("plain", 5) == "plain"


def test_what_is_wrong_has_a_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    events: list[Event] = [
        Progressed("t", Progress("t", 1, "", lag=0, dead_letters_total=3)),
        Failed("t", "The topic is gone."),
    ]
    coloured, plain, piped = Screen(), Screen(), io.StringIO()
    for stream in (coloured, plain, piped):
        if stream is plain:
            monkeypatch.setenv("NO_COLOR", "1")
        view = RunView(["t"], stream)
        for event in events:
            view.show(event)
    assert "\x1b[33mdead letters 3\x1b[0m" in coloured.getvalue()
    assert "\x1b[31mfailed: The topic is gone.\x1b[0m" in coloured.getvalue()
    assert COLOUR.search(plain.getvalue() + piped.getvalue()) is None


def test_with_the_log_on_the_terminal_no_line_changes() -> None:
    screen = Screen()
    view = RunView(["t"], screen, changes_lines=False)
    view.draw()
    view.show(Progressed("t", Progress("t", 1, "", input_rows=5, lag=2)))
    assert screen.getvalue() == "t  batch 1  in 0/s  done 0/s  lag 2  0.0 s\n"


def test_a_run_elsewhere_is_a_line_for_every_batch_with_rows() -> None:
    stream = io.StringIO()
    view = RunView(["totals"], stream)
    view.draw()
    view.show(Progressed("totals", Progress("totals", 0, "", input_rows=0)))
    view.show(Progressed("totals", Progress("totals", 1, "", input_rows=5, lag=2)))
    view.end()
    assert stream.getvalue() == "totals  batch 1  in 0/s  done 0/s  lag 2  0.0 s\n"


def test_events_in_words() -> None:
    assert (
        describe(Started("t", 2, resumes=True)) == "started again, attempt 2, continues from its checkpoint"
    )
    assert describe(Restarting("t", "No broker.", 1, 2.2)) == "failed, restarts in 2 s: No broker."
    assert describe(Failed("t", "Gone.")) == "failed: Gone."
    assert describe(Warned("t", "Look.")) == "warning: Look."
