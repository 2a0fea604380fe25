"""Processes that read files of users: their results, and the end of those that use too much."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.common.readers import pool, read, readers_have_no_network, stream
from evaluation.formats.sent_files import read_json_lines
from phrasebox.text_files import FormatError
from tests.formats import read_there


@pytest.fixture
def file(tmp_path: Path, settings: Any) -> Path:
    settings.READER_MEMORY, settings.READER_SECONDS = 300, 1
    path = tmp_path / "sent.npz"
    path.write_bytes(b"x")
    return path


def test_what_a_reader_yields_comes_in_its_order():
    assert list(stream(read_there.numbers, 10_000)) == list(range(10_000))


def test_an_error_of_ours_is_raised_as_it_was(file: Path):
    with pytest.raises(FormatError) as caught:
        read(read_there.wrong, file)
    assert str(caught.value) == f"{file}, line 3: is wrong; expected what is right"
    assert (caught.value.line, caught.value.expected) == (3, "what is right")


def test_an_error_that_nobody_foresaw_is_a_problem_of_the_file(file: Path):
    with pytest.raises(FormatError, match="cannot be read .KeyError: 'a mistake of ours'.; expected"):
        read(read_there.unforeseen, file)


@pytest.mark.parametrize("function", [read_there.greedy, read_there.greedy_in_parts])
def test_a_file_that_needs_too_much_memory_is_named_with_the_setting(file: Path, function: Any):
    with pytest.raises(FormatError, match=r"sent.npz: needs more than 286.1 MB of memory.*READER_MEMORY"):
        result = read(function, file) if function is read_there.greedy else list(stream(function, file))
        pytest.fail(f"was read: {result}")


def test_a_file_that_takes_too_long_is_named_with_the_setting(file: Path):
    with pytest.raises(FormatError, match=r"sent.npz: needs more than 1 seconds to read.*READER_SECONDS"):
        read(read_there.lost, file)


@pytest.mark.slow
def test_a_reader_that_waits_ends_too(file: Path):
    with pytest.raises(FormatError, match="needs more than 1 seconds to read"):
        read(read_there.asleep, file)


def test_a_reader_that_dies_is_a_problem_of_the_file(file: Path):
    with pytest.raises(FormatError, match="it ends the program that reads it; expected a complete file"):
        read(read_there.dying, file)


def test_an_entry_of_too_many_values_is_refused_where_it_is_read(tmp_path: Path):
    for result in (
        lambda: read(read_there.hollow, tmp_path),
        lambda: [*stream(read_there.hollow_at_last, tmp_path)],
    ):
        with pytest.raises(FormatError, match="holds an entry of more than 16.0 MB or 400,000 values"):
            result()


def test_a_line_of_json_of_too_many_values_is_refused_where_it_is_read(tmp_path: Path):
    path = tmp_path / "sent.jsonl"
    path.write_text('{"boxes": [' + ", ".join(400_000 * ["[]"]) + "]}\n")
    with pytest.raises(FormatError, match="400,000 values"):
        list(stream(read_json_lines, path, "a phrase"))


def test_entries_come_in_parts_of_so_many_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sizes = []
    understood = pool._understood

    def noted(data: bytes, arguments: Any) -> Any:
        answer = understood(data, arguments)
        sizes.append(sum(map(len, answer)) if isinstance(answer, list) else 0)
        return answer

    monkeypatch.setattr(pool, "_understood", noted)
    assert sum(1 for _ in stream(read_there.hollow_in_parts, tmp_path)) == 2_000
    assert sum(sizes) == 999_000 and max(sizes) <= 400_000


def test_an_answer_that_could_run_code_is_refused():
    with pytest.raises(FormatError, match="cannot be read"):
        read(read_there.code)


def test_six_gigabytes_are_mapped_where_a_reader_has_300_megabytes(file: Path):
    rows = 6 * 10**9 // 4096
    header = np.lib.format.header_data_from_array_1_0(np.zeros((1, 1024), np.float32))
    large = file.with_name("large.npy")
    with large.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, {**header, "shape": (rows, 1024)})
        out.truncate(out.tell() + rows * 4096)  # none of it is written to disk
    assert read(read_there.shape_of, large) == (rows, 1024)


def test_a_small_file_does_not_wait_for_large_ones(file: Path):
    large = file.with_name("large.zip")
    with large.open("wb") as out:
        out.truncate(pool.LARGE + 1)
    with closing(stream(read_there.held, large)) as first, closing(stream(read_there.held, large)) as second:
        assert len(next(first)) == len(next(second)) == 10**5
        began = time.monotonic()
        with pytest.raises(FormatError, match="is wrong"):
            read(read_there.wrong, file)
        assert time.monotonic() - began < 5


def test_many_threads_have_files_read_at_once():
    sums: list[int] = []

    def add() -> None:
        sums.append(sum(stream(read_there.numbers, 1000)))

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sums == [499_500] * 8


def test_readers_know_no_secret_and_reach_no_network(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_KEY", "x" * 50)
    pool._pool._stop()
    assert not {"SECRET_KEY", "DATABASE_URL", "DATA_DIR"} & read(read_there.environment).keys()
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert read(read_there.reaches, server.getsockname()[1]) == (not readers_have_no_network())


def test_readers_that_ended_are_started_again():
    assert read(read_there.environment)
    process = pool._pool._process
    assert process is not None
    process.kill()
    process.wait()
    assert read(read_there.environment)


def test_an_idle_process_of_readers_ends(monkeypatch: pytest.MonkeyPatch):
    from annotation.common import reader_server

    monkeypatch.setattr(reader_server, "IDLE", 0.05)
    monkeypatch.setattr(reader_server, "_leave_network", lambda: False)
    monkeypatch.setattr(reader_server.signal, "set_wakeup_fd", lambda number: -1)
    monkeypatch.setattr(reader_server.signal, "signal", lambda number, handler: None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader_server.serve(theirs)
        with pytest.raises(OSError):
            ours.sendall(struct.pack("<Q", 1))
