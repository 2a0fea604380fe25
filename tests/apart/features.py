"""Responses to a watcher as numbers: every value, the differences between two responses, and recurrences.

Nothing here uses the meaning of values. A number stays a number, a text becomes its length, a list its
length; for each text there is also how often it was seen before, how long ago, and how often it occurs in the
same response.
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
#: Missing values are far below all others.
LACKS = -1e6
#: A name with a counter, such as scene-000012.
_COUNTS = re.compile(r"\D*(\d{1,12})")


def leaves(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of each value of JSON; the elements of a list share a path."""
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
    """Return each path's values as numbers: the first, the mean, the minimum, the maximum, the count."""
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
    """Return (path, text) of each text that may be a name."""
    return [(path, value) for path, value in leaves(data) if isinstance(value, str) and value]


def changes(before: Numbers, after: Numbers, name: str) -> Numbers:
    """Return the differences of two sets of numbers."""
    return {f"{name} {key}": after[key] - before[key] for key in before.keys() & after.keys()}


class Memory:
    """What a watcher has seen so far."""

    def __init__(self) -> None:
        self._times: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, str], int] = {}
        self._item = 0

    def recurs(self, data: Any) -> Numbers:
        """Return how often each text was seen before, how many turns ago, and how often it occurs in
        `data`."""
        self._item += 1
        seen = texts(data)
        here = Counter(value for _, value in seen)
        numbers: dict[str, list[float]] = defaultdict(list)
        for path, value in seen:
            # An address is signed again every quarter of an hour; its picture's name is constant.
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
    """Return a page as data: tags by their class, attributes, texts, in order."""
    parser = _Tags()
    parser.feed(html)
    result: dict[str, list[Any]] = defaultdict(list)
    for path, value in parser.seen:
        result[path].append(int(value) if value.isdigit() and len(value) < 9 else value)
    return dict(result)


def table(rows: Sequence[Numbers]) -> tuple[list[str], Any]:
    """Return names of the columns, and a matrix."""
    names = sorted({name for row in rows for name in row})
    numbers = {name: number for number, name in enumerate(names)}
    matrix = np.full((len(rows), len(names)), LACKS, np.float32)
    for number, row in enumerate(rows):
        for name, value in row.items():
            matrix[number, numbers[name]] = value
    return names, matrix


def joined(tables: Sequence[tuple[list[str], Any]]) -> tuple[list[str], Any]:
    """Concatenate tables, without constant columns."""
    names = sorted({name for columns, _ in tables for name in columns})
    numbers = {name: number for number, name in enumerate(names)}
    matrix = np.full((sum(len(rows) for _, rows in tables), len(names)), LACKS, np.float32)
    end = 0
    for columns, rows in tables:
        matrix[end : end + len(rows), [numbers[name] for name in columns]] = rows
        end += len(rows)
    varied = (matrix != matrix[0]).any(axis=0) if len(matrix) else np.zeros(0, bool)
    return [name for name, use in zip(names, varied, strict=True) if use], matrix[:, varied]
