"""Exports: complete or not written, and what may be exported."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from PIL import Image as Picture

from annotation.campaigns.phrases import mark_phrases
from annotation.datasets.contents.figures import layer_statistics
from annotation.datasets.exporting import ExportError, export_dataset
from annotation.datasets.importing import import_corpus
from annotation.datasets.layer_rows import LayerShare, write_layer
from annotation.datasets.source_problems import IntakeError
from annotation.formats import base
from annotation.formats.base import FORMATS, Format, Written
from annotation.models import Corpus, Layer
from annotation.protocol.boxes import BOXED, COVERAGE, EXCLUDED, NON_VISUAL, REVIEW
from annotation.protocol.terms import ImageRecord
from annotation.selectors.export_exclusions import EXCLUDED_CHAINS, MARKED, OPEN_CHAINS, missing_from_export
from annotation.selectors.records import stream_records
from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError
from tests.factories import HAT, MAN, STREET, a_corpus, a_layer, an_image, boxed, boxless, some_images

pytestmark = pytest.mark.django_db


def tree(folder: Path) -> dict[str, bytes]:
    """Return the files of a dataset, without the card of an export."""
    card = ("README.md", "datasheet.json")
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in card]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def staged(corpus: Corpus, name: str = "crowd", **stages: str) -> Layer:
    """Make a layer of image 1000 whose chains 1, 2 and 3 are at `stages` (c1, c2, c3)."""
    record = a_layer(f"{MAN} in {HAT} crosses {STREET} .", objects=[boxed("2", 1, 1, 9, 9)])
    share = LayerShare("1000", record, {label[1:]: stage for label, stage in stages.items()})
    return write_layer(corpus=corpus, name=name, source="campaign", records=[share])


def corners(xmin: int, ymin: int, xmax: int, ymax: int) -> str:
    inside = f"<xmin>{xmin}</xmin><ymin>{ymin}</ymin><xmax>{xmax}</xmax><ymax>{ymax}</ymax>"
    return f"<bndbox>{inside}</bndbox>"


def entities_folder(folder: Path) -> Path:
    """A dataset on disk in canonical form, with every kind of object."""
    (folder / "Sentences").mkdir(parents=True)
    (folder / "Annotations").mkdir()
    (folder / "Sentences" / "12.txt").write_text(
        f"{MAN} in {HAT} and [/EN#2/clothing/bodyparts his gloves] crosses {STREET} .\n"
        "[/EN#0/notvisual The view] of [/EN#1/people a person] and [/EN#0/notvisual the air] .\n"
    )
    (folder / "Sentences" / "7.txt").write_text("Nothing is marked here .\n[/EN#10/other It] is .\n")
    (folder / "Annotations" / "12.xml").write_text(
        "<annotation>\n  <filename>12.jpg</filename>\n"
        "  <size><width>640</width><height>480</height><depth>3</depth></size>\n"
        f"  <object><name>2</name><name>1</name>{corners(5, 6, 640, 480)}</object>\n"
        "  <object><name>3</name><scene>1</scene><nobndbox>0</nobndbox></object>\n"
        f"  <object><name>1</name>{corners(1, 1, 1, 1)}</object>\n"
        "  <object><name>99</name><scene>0</scene><nobndbox>1</nobndbox></object>\n"
        "</annotation>\n"
    )
    (folder / "Annotations" / "7.xml").write_text(
        "<annotation>\n  <filename>7.jpg</filename>\n"
        "  <size><width>0</width><height>0</height><depth>3</depth></size>\n</annotation>\n"
    )
    (folder / "train.txt").write_text("7\n")
    (folder / "test.txt").write_text("12\n")
    (folder / "UNRELATED_CAPTIONS").write_text("# format: <imageID> <sentence number>\n12 2\n")
    return folder


def test_entities_come_out_byte_for_byte_as_they_went_in(tmp_path: Path):
    source = entities_folder(tmp_path / "in")
    import_corpus(name="c", path=source, format="entities")
    written = export_dataset(corpus="c", format="entities", out=tmp_path / "out")
    assert tree(tmp_path / "out") == tree(source)
    assert (written.counts["images"], written.counts["boxes"]) == (2, 2)
    assert all(file.exists() for file in written.files)


def test_an_archive_is_the_folder_it_holds(tmp_path: Path, data_dir: Path):
    source = entities_folder(tmp_path / "in")
    Picture.new("RGB", (640, 480), "navy").save(tmp_path / "12.jpg")
    (source / "images").mkdir()
    (tmp_path / "12.jpg").rename(source / "images" / "12.jpg")
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", source))
    assert import_corpus(name="c", path=archive, format="entities").pictures == 1
    assert import_corpus(name="c", path=source, format="entities").unchanged
    assert not (data_dir / "work").exists()


def test_an_error_inside_an_archive_names_the_archive(tmp_path: Path):
    source = entities_folder(tmp_path / "in")
    (source / "Sentences" / "7.txt").write_text("[/EN#1/people A man\n")
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "gztar", source))
    with pytest.raises(IntakeError) as refusal:
        import_corpus(name="c", path=archive, format="entities")
    assert str(refusal.value).startswith(f"{archive}/Sentences/7.txt, line 1: the mention of chain 1")


def test_jsonl_reads_back_to_the_same_records(tmp_path: Path):
    corpus = a_corpus("c", [*some_images(3), an_image("9", "A dog .", layered=False)])
    export_dataset(corpus="c", format="jsonl", out=tmp_path / "out")
    import_corpus(name="again", path=tmp_path / "out", format="jsonl")
    again = Corpus.objects.get(name="again")
    assert list(stream_records(corpus=again, layer=again.layers.get())) == list(
        stream_records(corpus=corpus, layer=corpus.layers.get())
    )


@pytest.mark.parametrize("format", ["entities", "jsonl"])
def test_a_layer_that_covers_some_images_has_the_same_figures_out_and_in(tmp_path: Path, format: str):
    covered = [*some_images(2), an_image("7", "Nothing is marked here .")]
    corpus = a_corpus("c", [*covered, an_image("8", "A dog .", layered=False)])
    export_dataset(corpus="c", format=format, out=tmp_path / "out")
    report = import_corpus(name="again", path=tmp_path / "out", format=format)
    assert (report.images, report.covered) == (4, 3)
    again = Corpus.objects.get(name="again")
    before, after = (
        layer_statistics(corpus=row, layer=row.layers.get()).figures() for row in (corpus, again)
    )
    assert before == after and before["mentions_per_image"] == 8 / 3


def test_what_no_format_says_of_a_layer_is_counted(tmp_path: Path):
    staged(a_corpus("c", some_images(2, layered=False)), c1=COVERAGE, c2=EXCLUDED, c3=EXCLUDED)
    written = export_dataset(corpus="c", format="jsonl", out=tmp_path / "out", include_unfinished=True)
    assert written.excluded == {"excluded_chains": 2, "open_chains": 1}
    assert missing_from_export(written.excluded) == [
        "Not in the files: 2 chains that a reviewer excluded; their mentions are plain words.",
        "Not in the files: that 1 chain is still open.",
    ]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_phrases_marked_by_hand_are_counted_where_no_layer_holds_them(tmp_path: Path, format: str):
    corpus = a_corpus("c", some_images(3, layered=False))
    for image in corpus.images.order_by("position")[:2]:
        mark_phrases(image=image, spans=[(0, 0, 2)])
    written = export_dataset(corpus="c", format=format, out=tmp_path / "bare")
    assert written.excluded["marked"] == 2
    assert missing_from_export({"marked": 2}) == [
        "Not in the files: the phrases that somebody marked in 2 images."
    ]
    staged(corpus)  # of the first image
    written = export_dataset(corpus="c", format=format, out=tmp_path / "layered")
    assert written.excluded["marked"] == 1


def test_everything_that_can_be_left_out_has_its_sentence():
    of_layers = [value for name, value in vars(base).items() if name.startswith("LEFT_OUT_")]
    assert len(of_layers) == 1
    words = (*base.RECORD_CONTENTS, *of_layers, EXCLUDED_CHAINS, OPEN_CHAINS, MARKED)
    assert (
        len(missing_from_export(dict.fromkeys(words, 1)))
        == len(missing_from_export(dict.fromkeys(words, 2)))
        == len(words)
    )


@pytest.mark.parametrize("stages", [{}, {"c1": BOXED, "c2": NON_VISUAL, "c3": EXCLUDED}, {"c1": ""}])
def test_a_layer_whose_chains_are_closed_goes_out(tmp_path: Path, stages: dict[str, str]):
    staged(a_corpus("c", some_images(2, layered=False)), **stages)
    export_dataset(corpus="c", format="entities", out=tmp_path / "out")
    assert (tmp_path / "out" / "Sentences" / "1000.txt").exists()


def test_unfinished_chains_are_counted_and_need_a_word(tmp_path: Path):
    corpus = a_corpus("c", some_images(2, layered=False))
    staged(corpus, c1=COVERAGE, c2=REVIEW, c3=BOXED)
    with pytest.raises(
        ExportError,
        match="Layer “crowd” is unfinished: 1 image is not done.*leave it out, or export it unfinished",
    ):
        export_dataset(corpus="c", format="entities", out=tmp_path / "out")
    assert tree(tmp_path) == {}
    export_dataset(corpus="c", format="entities", out=tmp_path / "out", include_unfinished=True)
    assert (tmp_path / "out").is_dir()


def test_mentions_of_excluded_chains_are_plain_words(tmp_path: Path):
    staged(a_corpus("c", some_images(1, layered=False)), c2=EXCLUDED)
    export_dataset(corpus="c", format="entities", out=tmp_path / "out")
    assert (tmp_path / "out" / "Sentences" / "1000.txt").read_text().splitlines()[0] == (
        f"{MAN} in a hat crosses {STREET} ."
    )
    assert "<object>" not in (tmp_path / "out" / "Annotations" / "1000.xml").read_text()


def test_where_layers_exist_one_is_named_or_the_error_lists_them(tmp_path: Path):
    corpus = a_corpus("c", some_images(1))
    staged(corpus)
    with pytest.raises(PhraseboxError, match="name one of: crowd, import"):
        export_dataset(corpus="c", format="entities", out=tmp_path / "out")
    with pytest.raises(UnknownName, match="unknown layer 'gold'"):
        export_dataset(corpus="c", format="entities", out=tmp_path / "out", layer="gold")
    export_dataset(corpus="c", format="entities", out=tmp_path / "out", layer="crowd")


def test_a_folder_with_something_in_it_is_refused_and_an_empty_one_taken(tmp_path: Path):
    a_corpus("c", some_images(1))
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(ExportError, match="out: already exists; expected a new or an empty folder"):
        export_dataset(corpus="c", format="jsonl", out=out)
    assert tree(tmp_path) == {"out/mine.txt": b"mine"}
    (out / "mine.txt").unlink()
    export_dataset(corpus="c", format="jsonl", out=out)
    assert any(out.iterdir())
    with pytest.raises(ExportError, match="already exists"):
        export_dataset(corpus="c", format="jsonl", out=next(out.iterdir()))


class HalfWay(Format):
    """Writes one file, then fails."""

    key, title, writes = "half-way", "fails half-way", True

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        (out / "half").write_text(next(iter(records)).id)
        if isinstance(self.error, FormatError):
            raise FormatError("cannot be said", file=out / "half", expected="less")
        raise self.error


@pytest.mark.parametrize("error", [FormatError("", file=""), OSError("disk full"), KeyboardInterrupt()])
def test_nothing_half_written_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException):
    monkeypatch.setitem(FORMATS._entries, "half-way", HalfWay(error))
    a_corpus("c", some_images(1))
    with pytest.raises((ExportError, OSError, KeyboardInterrupt)):
        export_dataset(corpus="c", format="half-way", out=tmp_path / "new" / "out")
    assert tree(tmp_path) == {}


def test_an_error_names_the_folder_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(FORMATS._entries, "half-way", HalfWay(FormatError("", file="")))
    a_corpus("c", some_images(1))
    with pytest.raises(ExportError) as refusal:
        export_dataset(corpus="c", format="half-way", out=tmp_path / "out")
    assert str(refusal.value) == f"{tmp_path / 'out' / 'half'}: cannot be said; expected less"


def test_pictures_go_along_when_asked(tmp_path: Path):
    colours = {"1": "red", "2": "navy"}
    for id, colour in colours.items():
        Picture.new("RGB", (40, 30), colour).save(tmp_path / f"{id}.png")
    records = [an_image(id, MAN, size=(0, 0), picture=tmp_path / f"{id}.png") for id in colours]
    a_corpus("c", [*records, an_image("3", MAN)])
    export_dataset(corpus="c", format="entities", out=tmp_path / "plain")
    assert not (tmp_path / "plain" / "images").exists()
    written = export_dataset(corpus="c", format="entities", out=tmp_path / "full", with_pictures=True)
    assert written.counts["pictures"] == 2
    assert sorted(f.name for f in (tmp_path / "full" / "images").iterdir()) == ["1.jpg", "2.jpg"]
    with Picture.open(tmp_path / "full" / "images" / "1.jpg") as picture:
        assert picture.convert("RGB").getpixel((0, 0)) == (255, 0, 0)
    # A dataset exported with its pictures can be imported as the same corpus.
    import_corpus(name="again", path=tmp_path / "full", format="entities")
    assert [r.picture for r in stream_records(corpus=Corpus.objects.get(name="again"))] == [
        r.picture for r in stream_records(corpus=Corpus.objects.get(name="c"))
    ]


def test_a_format_for_one_direction_lists_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(FORMATS._entries, "half-way", HalfWay(OSError()))
    a_corpus("c", some_images(1))
    with pytest.raises(UnknownName, match="'half-way' is for export only; for import: .*entities"):
        import_corpus(name="d", path=tmp_path, format="half-way")
    reader = Format.__new__(HalfWay)
    reader.key, reader.writes, reader.reads = "read-only", False, True
    monkeypatch.setitem(FORMATS._entries, "read-only", reader)
    with pytest.raises(UnknownName, match="'read-only' is for import only; for export: .*entities"):
        export_dataset(corpus="c", format="read-only", out=tmp_path / "out")


def test_boxes_without_mentions_survive(tmp_path: Path):
    image = an_image("1", "A dog .", objects=[boxless("8"), boxed("9", 1, 2, 3, 4)])
    a_corpus("c", [image])
    export_dataset(corpus="c", format="entities", out=tmp_path / "out")
    import_corpus(name="again", path=tmp_path / "out", format="entities")
    again = Corpus.objects.get(name="again")
    [record] = stream_records(corpus=again, layer=again.layers.get())
    assert record.layer == image.layer
