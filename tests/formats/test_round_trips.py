"""Each format reads the same records that it wrote; and import then export is the identity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.formats import FORMATS
from annotation.protocol.terms import ImageRecord
from phrasebox.text_files import FormatError
from tests.formats import records as make
from tests.formats.reading import one_line
from tests.formats.records import Abilities

Carried = Callable[[list[ImageRecord]], list[ImageRecord]]

CASES: dict[str, tuple[Abilities, Carried]] = {
    "flickr8k": (Abilities(), make.as_flickr8k),
    "flickr30k": (Abilities(captionless=True, line_breaks=True), make.as_flickr30k),
    "karpathy": (Abilities(captionless=True, line_breaks=True), make.as_karpathy),
    "coco": (
        Abilities(
            captionless=True, line_breaks=True, layers=True, uncovered=True, model_boxes=True, labels=True
        ),
        make.as_coco,
    ),
    "csv": (Abilities(line_breaks=True), make.as_csv),
    "jsonl": (
        Abilities(
            captionless=True, line_breaks=True, layers=True, uncovered=True, model_boxes=True, labels=True
        ),
        list,
    ),
    "parquet": (
        Abilities(
            captionless=True, line_breaks=True, layers=True, uncovered=True, model_boxes=True, labels=True
        ),
        list,
    ),
    "entities": (
        Abilities(
            splits=("", "train", "restval", "val", "test"),
            layers=True,
            uncovered=True,
            brackets=False,
            nesting=False,
        ),
        make.as_entities,
    ),
}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_format_that_reads_and_writes_is_tried_here():
    assert {entry.key for entry in FORMATS if entry.reads and entry.writes} == set(CASES)


@pytest.mark.parametrize("key", sorted(CASES))
@given(data=st.data())
def test_what_is_written_reads_back_as_the_same_records(key, data):
    can, carried = CASES[key]
    corpus = data.draw(make.corpora(can))
    entry = FORMATS.get(key)
    with TemporaryDirectory() as folder:
        written = entry.write(corpus, Path(folder))
        result = list(entry.read(Path(folder)))
        assert result == carried(corpus)
        assert written.counts["images"] == len(result)
        assert written.counts["captions"] == sum(len(record.captions) for record in result)
        assert all(file.exists() for file in written.files)


@pytest.mark.parametrize("key", sorted(CASES))
@given(corpus=make.untidy_corpora())
def test_what_a_format_cannot_say_is_refused_or_counted_as_left_out(key, corpus):
    entry = FORMATS.get(key)
    with TemporaryDirectory() as folder:
        try:
            written = entry.write(corpus, Path(folder))
        except FormatError as error:
            assert key not in ("jsonl", "parquet", "flickr30k")
            assert one_line(error).file.startswith(folder)
            return
        lost = make.lost(corpus, list(entry.read(Path(folder))))
    assert written.excluded == lost


@pytest.mark.parametrize("key", sorted(CASES))
@given(data=st.data())
def test_import_then_export_gives_the_same_bytes_on_what_we_exported(key, data):
    can, _ = CASES[key]
    entry = FORMATS.get(key)
    with TemporaryDirectory() as first, TemporaryDirectory() as second, TemporaryDirectory() as third:
        entry.write(data.draw(make.corpora(can)), Path(first))
        entry.write(entry.read(Path(first)), Path(second))
        entry.write(entry.read(Path(second)), Path(third))
        assert files(Path(third)) == files(Path(second))
