"""Each query's values, a row per query and run: CSV, JSON or Parquet, by the file's suffix.

A value that does not exist, or is infinite (the rank of an item that was not retrieved), is empty in CSV and
null elsewhere; nothing is rounded.
"""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from models_core.extras import load_extra
from phrasebox.spreadsheets import escape_formula
from phrasebox.text_files import FormatError, open_new, whole_file

Rows = Sequence[Mapping[str, Any]]


def write_per_query(file: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a new file atomically; return its number of rows.

    Every row has the same columns. Raises FormatError for a suffix that is not in `WRITERS`, and for a file
    that exists already.
    """
    write = WRITERS.get(file.suffix.lower())
    if write is None:
        raise FormatError(
            f"ends in {file.suffix or 'nothing'!r}", file=file, expected=f"one of {', '.join(WRITERS)}"
        )
    with whole_file(file) as part:
        rows_written = list(rows)
        write(part, rows_written)
    return len(rows_written)


def _as_csv(file: Path, rows: Rows) -> None:
    with open_new(file) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([escape_formula(name) for name in rows[0]] if rows else [])
        writer.writerows([escape_formula("" if v is None else v) for v in row.values()] for row in rows)


def _as_json(file: Path, rows: Rows) -> None:
    with open_new(file) as out:
        json.dump([dict(row) for row in rows], out, indent=1, ensure_ascii=False, allow_nan=False)
        out.write("\n")


def _as_parquet(file: Path, rows: Rows) -> None:
    pyarrow = load_extra("pyarrow")
    parquet = load_extra("pyarrow.parquet")

    parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), file)


WRITERS: Mapping[str, Callable[[Path, Rows], None]] = {
    ".csv": _as_csv,
    ".json": _as_json,
    ".parquet": _as_parquet,
}
