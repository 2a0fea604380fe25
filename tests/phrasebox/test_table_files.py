"""Tables as written by spreadsheets and sites can be read unchanged."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.table_files import RaggedRow, TableFile, column_name
from phrasebox.text_files import FormatError

CELLS = st.text(alphabet="ab ,;\t|\"'\n#é=", max_size=6).map(str.strip)


def rows_of(path: Path, **aliases: tuple[str, ...]) -> list[dict[str, str]]:
    return [row for _, row in TableFile(path, aliases).rows()]


@given(
    cells=st.lists(st.tuples(CELLS, CELLS).filter(any), max_size=4),
    delimiter=st.sampled_from(",;\t"),
    sep=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_a_spreadsheet_wrote_is_read_back(tmp_path_factory, cells, delimiter, sep, encoding, end):
    file = tmp_path_factory.mktemp("table") / "t.csv"
    with file.open("w", encoding=encoding, newline="") as stream:
        if sep:
            stream.write(f"sep={delimiter}{end}")
        csv.writer(stream, delimiter=delimiter, lineterminator=end).writerows(
            [("Image Name", "caption"), *cells]
        )
    assert rows_of(file, image=("image_name",)) == [{"image": a, "caption": b} for a, b in cells]


def test_bars_have_no_quotation_marks(tmp_path: Path):
    (tmp_path / "t.csv").write_text('a| b\n1| say "hi\n')
    assert rows_of(tmp_path / "t.csv") == [{"a": "1", "b": ' say "hi'}]


def test_empty_rows_are_passed_over_and_ragged_ones_told_with_their_line(tmp_path: Path):
    (tmp_path / "t.csv").write_text("\na,b\n1,2\n,\n\n3\n")
    table = TableFile(tmp_path / "t.csv")
    (_, whole), (line, ragged) = table
    assert (
        whole == {"a": "1", "b": "2"} and isinstance(ragged, RaggedRow) and (line, ragged.cells) == (6, ["3"])
    )
    with pytest.raises(FormatError, match=r"t.csv, line 6: holds 1 cells; expected 2, as in the header"):
        list(TableFile(tmp_path / "t.csv").rows())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,A\n1,2\n", "line 1: has the column 'a' more than once"),
        ('a,b\n1,"2\n', "line 2: is not CSV"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FormatError, match=message):
        rows_of(tmp_path / "t.csv")


def test_columns_are_called_alike_in_capitals_and_with_spaces():
    assert {column_name(cell) for cell in ("Image Name", " image-name ", "\ufeffIMAGE_NAME")} == {
        "image_name"
    }
