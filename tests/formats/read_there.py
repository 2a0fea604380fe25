"""Readers for tests of the reader process (`test_readers.py`)."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from annotation.common.reader_server import MOST_VALUES
from annotation.images.decoding import StoredPicture
from phrasebox.formats.arrays import open_arrays
from phrasebox.text_files import FormatError


def numbers(most: int) -> Iterator[int]:
    yield from range(most)


def wrong(path: Path) -> None:
    raise FormatError("is wrong", file=path, line=3, expected="what is right")


def unforeseen(path: Path) -> None:
    raise KeyError("a mistake of ours")


def greedy(path: Path) -> int:
    return len(np.ones(10**9))


def greedy_in_parts(path: Path) -> Iterator[int]:
    parts = []
    for number in range(10**6):
        parts.append(bytes(10**6))
        yield number


def lost(path: Path) -> None:
    while True:
        pass


def asleep(path: Path) -> None:
    time.sleep(60)


def dying(path: Path) -> None:
    os.abort()


def fatal_pictures(
    paths: tuple[Path, ...], folder: Path | None, first: int = 0
) -> Iterator[tuple[StoredPicture, str]]:
    for path in paths[first:]:
        if path.stem == "fatal":
            os.abort()
        yield StoredPicture(path.name, 1, 1, ""), ""


def held(path: Path) -> Iterator[bytes]:
    while True:
        yield bytes(10**5)


def hollow(path: Path) -> list[Any]:
    """Return objects of two bytes each in a message."""
    return [[] for _ in range(MOST_VALUES)]


def hollow_in_parts(path: Path) -> Iterator[list[Any]]:
    """Yield small lists first, so that many arrive at once."""
    for number in range(2_000):
        yield [[] for _ in range(1_000)] if number > 1_000 else []


def hollow_at_last(path: Path) -> Iterator[list[Any]]:
    yield []
    yield hollow(path)


def code() -> Any:
    return os.system


def shape_of(path: Path) -> tuple[int, ...]:
    return open_arrays(path).arrays[""].shape


def reaches(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def environment() -> dict[str, str]:
    return dict(os.environ)
