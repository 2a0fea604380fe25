"""The progress of a command: lines for logs if standard error is not a terminal, else a bar."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO

import pytest

from annotation.management import base

CLOCK = r"\d+:\d\d:\d\d"


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print a line every hundredth of a second."""
    monkeypatch.setattr(base, "EVERY", 0.01)


def until(there: Callable[[], object]) -> None:
    ends = time.monotonic() + 60
    while not there():
        assert time.monotonic() < ends
        time.sleep(0.005)


def wait_for_line(log: StringIO, line: str) -> None:
    until(lambda: line in log.getvalue())


def writers() -> list[threading.Thread]:
    return [row for row in threading.enumerate() if row.name == "progress"]


@pytest.mark.usefixtures("often")
def test_a_phase_that_says_nothing_is_told_of_again_and_again() -> None:
    with redirect_stderr(StringIO()) as log:
        with base.progress_bar(what="share", total=1_000) as bar:
            base.move_bar(bar, 0, 1_000, what="text kernel")
            until(lambda: len(re.findall(rf"text kernel: 0 of 1,000 \({CLOCK}\)\n", log.getvalue())) >= 3)
            base.move_bar(bar, 500, 1_000, what="trying regularisers")
            second = rf"trying regularisers: 500 of 1,000 \({CLOCK}\)\n"
            until(lambda: re.search(second, log.getvalue()))
        assert not writers()


def test_what_is_done_sooner_says_nothing() -> None:
    with redirect_stderr(StringIO()) as log:
        with base.progress_bar(what="images", total=3) as bar:
            base.move_bar(bar, 2, 4)
            assert (bar.n, bar.total) == (2, 4)
        assert list(base.with_progress(iter("abc"), what="letters")) == ["a", "b", "c"]
        assert log.getvalue() == "" and not writers()


@pytest.mark.usefixtures("often")
def test_things_are_counted_as_they_are_taken() -> None:
    with redirect_stderr(StringIO()) as log:
        for thing in base.with_progress([0, 1], what="things"):
            wait_for_line(log, f"things: {thing} of 2 (")
        for thing in base.with_progress((n for n in (0, 1)), what="others"):
            wait_for_line(log, f"others: {thing} (")
        assert not writers()


@pytest.mark.usefixtures("often")
def test_a_command_that_fails_writes_no_more() -> None:
    with (
        redirect_stderr(StringIO()),
        pytest.raises(RuntimeError),
        base.progress_bar(what="text kernel", total=1),
    ):
        assert writers()
        raise RuntimeError("the power went")
    assert not writers()


@pytest.mark.usefixtures("often")
def test_a_log_that_nobody_reads_any_more_stops_nothing() -> None:
    with redirect_stderr(StringIO()) as log, base.progress_bar(what="images", total=3) as bar:
        log.close()
        until(lambda: not writers())
        bar.update()
        assert bar.n == 1


def test_on_a_terminal_there_is_a_bar_and_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "DELAY", 0)
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with os.fdopen(writer, "w") as terminal, os.fdopen(reader, "rb"):
        with redirect_stderr(terminal):
            assert sys.stderr.isatty()
            with base.progress_bar(what="share", total=2) as bar:
                assert not writers()
                base.move_bar(bar, 2, 2, what="text kernel")
        displayed = ""
        while "text kernel: 100%" not in displayed:  # output to a terminal arrives in parts
            displayed += os.read(reader, 10_000).decode()
    assert "\r" in displayed
