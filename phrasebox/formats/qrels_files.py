"""Files of qrels in published formats.

`trec`: lines of `query 0 item grade`; a grade of -1 is a pooled pair that nobody judged. `csv`: a table (see
`phrasebox.table_files`) with the columns `query` and `document` (or `image` and `caption`), and `relevance`,
a whole number from -1 on. Other columns are passed over. `json`: an object of each query's relevant items,
`{query: [item, ...]}`, or of their grades, `{query: {item: grade, ...}}`. ECCV Caption and its copies of the
positives of COCO and of Crisscrossed Captions are published so, with COCO's ids, one file for either
direction. Source: Chun et al. 2022, "ECCV Caption"; the files of its package.

Rows are written in their order, so reading and writing preserves a file.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasebox.formats.tables import read_rows
from phrasebox.formats.trec import read_qrels, write_qrels
from phrasebox.metrics.judgments import POOLED
from phrasebox.registry import Registry
from phrasebox.table_files import count_columns
from phrasebox.text_files import GZIP_ERRORS, FormatError, open_bytes, open_new, short_repr, whole_number

#: The maximum size in bytes of a JSON file, which is read as a whole.
_LARGEST = 512 * 2**20

#: A query, an item, and its relevance.
QrelsLine = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class QrelsFormat:
    """A format. `read` yields rows, each pair once; `write` takes rows, and the kind of queries: image or
    caption.

    `ending` is the suffix of such files, without the dot.
    """

    key: str
    title: str
    read: Callable[[Path], Iterator[QrelsLine]]
    write: Callable[[Path, Iterable[QrelsLine], str], int]
    ending: str


QRELS_FORMATS: Registry[QrelsFormat] = Registry("qrels format")


def _read_trec(path: Path) -> Iterator[QrelsLine]:
    for query, items in read_qrels(path).items():
        for item, grade in items.items():
            yield query, item, grade


def _write_trec(path: Path, rows: Iterable[QrelsLine], asks: str) -> int:
    return write_qrels(path, rows)


def _read_csv(path: Path) -> Iterator[QrelsLine]:
    header, rows = read_rows(path)
    pairs = (("query", "document"), ("image", "caption"), ("caption", "image"))
    # The query's column comes first.
    names = next((pair for pair in pairs if set(pair) <= set(header) and _before(header, *pair)), None)
    if names is None or "relevance" not in header:
        raise FormatError(
            f"has the columns {', '.join(header)}",
            file=path,
            line=1,
            expected="query and document (or image and caption, the query first), and relevance",
        )
    count_columns(header, (*names, "relevance"))
    seen: dict[tuple[str, str], int] = {}
    for line, row in rows:
        query, item = (row[name].strip() for name in names)
        if not query or not item:
            raise FormatError(
                "a pair lacks an id", file=path, line=line, expected=f"both {' and '.join(names)}"
            )
        grade = _grade(row["relevance"], path, line)
        if seen.setdefault((query, item), line) != line:
            raise FormatError(
                f"{short_repr(query)} and {short_repr(item)} are already on line {seen[query, item]}",
                file=path,
                line=line,
                expected="each pair once",
            )
        yield query, item, grade
    if not seen:
        raise FormatError("contains no pair", file=path, expected="one row for each pair")


def _write_csv(path: Path, rows: Iterable[QrelsLine], asks: str) -> int:
    written = 0
    with open_new(path) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([asks, "caption" if asks == "image" else "image", "relevance"])
        for row in rows:
            writer.writerow(row)
            written += 1
    return written


def _read_json(path: Path) -> Iterator[QrelsLine]:
    with open_bytes(path) as stream:
        packed = path.suffix.lower() == ".gz"
        try:
            text = (gzip.GzipFile(fileobj=stream) if packed else stream).read(_LARGEST + 1)
        except GZIP_ERRORS as error:
            raise FormatError(
                f"cannot be decompressed ({error})", file=path, expected="a complete gzip file"
            ) from error
    if len(text) > _LARGEST:
        raise FormatError(f"has over {_LARGEST} bytes", file=path, expected="a smaller file")
    try:
        content = json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"is not JSON ({error})", file=path, expected="an object") from error
    if not isinstance(content, dict) or not any(content.values()):
        raise FormatError(
            f"contains {short_repr(content)}", file=path, expected="an object of queries, {query: [item]}"
        )
    for query, items in content.items():
        graded = items if isinstance(items, dict) else None
        if graded is None and not isinstance(items, list):
            raise FormatError(
                f"has {short_repr(items)} for {short_repr(query)}",
                file=path,
                expected="a list of items, or their grades",
            )
        seen = set()
        for item in items:
            if not isinstance(item, str | int) or isinstance(item, bool) or not str(item) or not query:
                raise FormatError(
                    f"names {short_repr(item)} for {short_repr(query)}", file=path, expected="ids"
                )
            if str(item) in seen:
                raise FormatError(
                    f"names {short_repr(item)} for {short_repr(query)} twice",
                    file=path,
                    expected="each item once",
                )
            seen.add(str(item))
            yield query, str(item), 1 if graded is None else _grade(graded[item], path, None)


def _write_json(path: Path, rows: Iterable[QrelsLine], asks: str) -> int:
    """Write as ECCV Caption is published: no spaces, numeric ids as numbers; grades if they are not all 1."""
    grades: dict[str, dict[str, int]] = {}
    for query, item, grade in rows:
        grades.setdefault(query, {})[item] = grade
    with open_new(path) as out:
        if all(grade == 1 for items in grades.values() for grade in items.values()):
            lists: dict[str, Any] = {
                query: [_number(item) for item in items] for query, items in grades.items()
            }
            json.dump(lists, out, separators=(",", ":"), ensure_ascii=False)
        else:
            json.dump(grades, out, separators=(",", ":"), ensure_ascii=False)
    return sum(map(len, grades.values()))


def _number(item: str) -> int | str:
    return int(item) if item.isdecimal() and item.isascii() and (item == "0" or item[0] != "0") else item


def _once(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(
            f"names {short_repr(twice)} twice", file=path, expected="each name of an object once"
        )
    return mapping


def _grade(value: Any, path: Path, line: int | None) -> int:
    grade = whole_number(str(value)) if isinstance(value, int | float | str) else None
    if isinstance(value, bool):
        grade = None
    if grade is None or grade < POOLED:
        raise FormatError(
            f"has the relevance {short_repr(value)}",
            file=path,
            line=line,
            expected="a whole number, -1, 0 or more",
        )
    return grade


def _before(header: list[str], first: str, second: str) -> bool:
    return header.index(first) < header.index(second)


for _format in (
    QrelsFormat("trec", "TREC qrels", _read_trec, _write_trec, "qrels"),
    QrelsFormat("csv", "A table (query, document, relevance)", _read_csv, _write_csv, "csv"),
    QrelsFormat(
        "json", "Each query's relevant items, as ECCV Caption has them", _read_json, _write_json, "json"
    ),
):
    QRELS_FORMATS.register(_format.key, _format)
