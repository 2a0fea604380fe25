"""What a watcher saw, as numbers: every value of every answer, what changed between two of them, what recurs.

Nothing here knows what the values mean. A number is itself, a text its length, a list its length; of
each text also how often it was seen before, how long ago, and how often it stands in the same answer.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

import numpy as np

Numbers = dict[str, float]
#: What a row lacks is far below everything.
LACKS = -1e6
#: A name that counts, as scene-000012 does.
_COUNTS = re.compile(r"\D*(\d{1,12})")


def leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of each value of JSON; the elements of a list share a path."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from leaves(value, f"{path}.{name}")
    elif isinstance(data, list):
        yield f"{path}#", len(data)
        for value in data:
            yield from leaves(value, f"{path}[]")
    else:
        yield path, data


def numbers_of(data: Any, path: str = "", *, at: float = 0.0) -> Numbers:
    """Each path's values as numbers: the first, the mean, the least, the greatest, how many."""
    result: dict[str, list[float]] = defaultdict(list)
    for name, value in leaves(data, path):
        result[name].append(_number(value, at))
    numbers: Numbers = {}
    for name, values in result.items():
        numbers[name] = values[0]
        if len(values) > 1:
            numbers |= {
                f"{name} mean": sum(values) / len(values),
                f"{name} least": min(values),
                f"{name} greatest": max(values),
                f"{name} times": len(values),
                f"{name} last": values[-1],
                f"{name} falls": sum(b < a for a, b in zip(values, values[1:], strict=False)),
            }
    return numbers


def _number(value: Any, at: float) -> float:
    if value is None:
        return -1.0
    if isinstance(value, bool | int | float):
        return float(value)
    try:
        return datetime.fromisoformat(str(value)).timestamp() - at
    except ValueError:
        return float(len(str(value)))


def texts(data: Any) -> list[tuple[str, str]]:
    """(path, text) of each text that may be a name of something."""
    return [(path, value) for path, value in leaves(data) if isinstance(value, str) and value]


def changes(before: Numbers, after: Numbers, name: str) -> Numbers:
    """What two sets of numbers differ by."""
    return {f"{name} {key}": after[key] - before[key] for key in before.keys() & after.keys()}


class Memory:
    """What a watcher has seen so far."""

    def __init__(self) -> None:
        self._times: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, str], int] = {}
        self._item = 0

    def recurs(self, data: Any) -> Numbers:
        """How often each text was seen before, how many turns ago, and how often it stands in `data`."""
        self._item += 1
        seen = texts(data)
        here = Counter(value for _, value in seen)
        numbers: dict[str, list[float]] = defaultdict(list)
        for path, value in seen:
            # An address is signed again every quarter of an hour; its picture's name stays.
            name = (path, value.partition(":")[0])
            numbers[f"{path} before"].append(self._times[name])
            numbers[f"{path} ago"].append(self._item - self._last.get(name, self._item - 1000))
            numbers[f"{path} here"].append(here[value])
            counts = _COUNTS.fullmatch(value)
            numbers[f"{path} number"].append(float(counts[1]) if counts else -1.0)
        for path, value in seen:
            name = (path, value.partition(":")[0])
            self._times[name] += 1
            self._last[name] = self._item
        return {
            f"{path} {how}": by(values)
            for path, values in numbers.items()
            for how, by in (("mean", _mean), ("least", min), ("greatest", max))
        }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kind = dict(attrs).get("class") or ""
        for name, value in attrs:
            self.seen.append((f"{tag} {name}", value or ""))
        self.seen.append((f"<{tag} {kind}>", ""))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.seen.append(("text", data.strip()))


def page(html: str) -> dict[str, list[Any]]:
    """A page as data: tags by their class, attributes, texts, in their order."""
    parser = _Tags()
    parser.feed(html)
    result: dict[str, list[Any]] = defaultdict(list)
    for path, value in parser.seen:
        result[path].append(int(value) if value.isdigit() and len(value) < 9 else value)
    return dict(result)


def table(rows: Sequence[Numbers]) -> tuple[list[str], Any]:
    """Names of the columns, and a matrix."""
    names = sorted({name for row in rows for name in row})
    numbers = {name: number for number, name in enumerate(names)}
    matrix = np.full((len(rows), len(names)), LACKS, np.float32)
    for number, row in enumerate(rows):
        for name, value in row.items():
            matrix[number, numbers[name]] = value
    return names, matrix


def joined(tables: Sequence[tuple[list[str], Any]]) -> tuple[list[str], Any]:
    """Tables below each other, without the columns in which nothing varies."""
    names = sorted({name for columns, _ in tables for name in columns})
    numbers = {name: number for number, name in enumerate(names)}
    matrix = np.full((sum(len(rows) for _, rows in tables), len(names)), LACKS, np.float32)
    end = 0
    for columns, rows in tables:
        matrix[end : end + len(rows), [numbers[name] for name in columns]] = rows
        end += len(rows)
    varied = (matrix != matrix[0]).any(axis=0) if len(matrix) else np.zeros(0, bool)
    return [name for name, use in zip(names, varied, strict=True) if use], matrix[:, varied]
