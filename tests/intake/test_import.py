"""Imports: complete or not at all, once, and their results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image as Picture

from annotation.datasets import layer_rows
from annotation.datasets.importing import import_corpus
from annotation.datasets.source_problems import IntakeError
from annotation.formats.digest import RepeatedImage
from annotation.models import Box, Caption, Chain, Corpus, Image, Layer, LayerImage, Mention
from annotation.protocol.terms import CaptionRecord, ImageRecord, LayerRecord
from annotation.protocol.terms import Chain as ChainRecord
from annotation.protocol.terms import Mention as MentionRecord
from annotation.selectors.records import stream_records
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError
from tests.factories import HAT, MAN, a_corpus, a_layer, an_image, boxed, some_images
from tests.intake.conftest import a_picture, everything, take

pytestmark = pytest.mark.django_db


def test_a_corpus_stands_with_its_layer_and_is_counted():
    report = take(some_images(3))
    corpus = Corpus.objects.get()
    assert (corpus.published, corpus.image_count, corpus.caption_count) == (True, 3, 6)
    assert corpus.digest == report.digest != ""
    layer = Layer.objects.get()
    assert (layer.name, layer.source, layer.published) == ("import", "import", True)
    assert (report.images, report.captions, report.chains, report.mentions, report.boxes) == (3, 6, 9, 12, 6)
    assert (Image.objects.count(), Caption.objects.count()) == (3, 6)
    assert (Chain.objects.count(), Mention.objects.count(), Box.objects.count()) == (9, 12, 6)


def test_what_is_not_visual_is_counted_apart():
    report = take([an_image("1", f"{MAN} in [/EN#0/notvisual the background] .")])
    assert (report.mentions, report.chains, report.not_visual) == (1, 1, 1)


def test_captions_alone_make_no_layer():
    report = take(some_images(2, layered=False))
    assert report.layer == ""
    assert not Layer.objects.exists()


def test_images_with_and_without_a_layer_stand_side_by_side():
    image, marked = an_image("1", "A dog .", layered=False), an_image("2", f"{MAN} .")
    bare = an_image("3", "Nothing is marked here .")
    take([image, marked, bare])
    assert sorted(LayerImage.objects.values_list("image__key", flat=True)) == ["2", "3"]
    layer = Layer.objects.get()
    assert list(stream_records(corpus=layer.corpus, layer=layer)) == [image, marked, bare]


def test_a_second_import_of_the_same_content_changes_nothing(data_dir: Path, tmp_path: Path):
    records = [replace(r, width=0, height=0) for r in some_images(2)]
    records[0] = replace(records[0], picture=a_picture(tmp_path / "a.jpg", size=(500, 375)))
    first = take(records)
    before = everything(data_dir)
    second = take(records)
    assert second.unchanged and not first.unchanged
    assert (second.digest, second.images, second.mentions) == (first.digest, 2, 8)
    assert everything(data_dir) == before


@pytest.mark.parametrize(
    "another",
    [
        lambda r: replace(r, captions=(*r.captions[:1], CaptionRecord("Somebody runs ."))),
        lambda r: replace(r, layer=None),
        lambda r: replace(r, split="val"),
        lambda r: replace(r, width=501),
        lambda r: replace(r, captions=(replace(r.captions[0], unrelated=True), *r.captions[1:])),
    ],
)
def test_other_content_under_the_same_name_is_refused_with_the_remedy(data_dir: Path, another):
    records = some_images(2)
    take(records)
    before = everything(data_dir)
    with pytest.raises(
        IntakeError, match="already exists with other content .2 images from the test.; choose another"
    ):
        take([records[0], another(records[1])])
    assert everything(data_dir) == before


def test_another_picture_is_other_content(tmp_path: Path):
    image = replace(an_image("1", "A dog .", size=(0, 0)), picture=a_picture(tmp_path / "a.png", "red"))
    take([image])
    a_picture(tmp_path / "a.png", "green")
    with pytest.raises(IntakeError, match="other content"):
        take([image])


def test_an_id_that_comes_twice_is_named_with_both_places(data_dir: Path):
    records = some_images(3)
    before = everything(data_dir)
    with pytest.raises(
        RepeatedImage, match="the test: image '1000' is record 1 and record 4; expected each image once"
    ):
        take([*records, records[0]])
    assert everything(data_dir) == before


def layered(*mentions: tuple[str, int, int]) -> ImageRecord:
    """Return an image with the caption "a b c d e" and (chain, start, end) mentions in it."""
    words = ("a", "b", "c", "d", "e")
    chains = tuple(
        ChainRecord(chain, (MentionRecord(0, start, end, words[start:end], ("other",)),))
        for chain, start, end in mentions
    )
    return ImageRecord("7", "7.jpg", (CaptionRecord("a b c d e"),), layer=LayerRecord(chains))


def test_mentions_may_nest_and_cross():
    image = layered(("1", 0, 5), ("2", 0, 2), ("3", 1, 4))
    take([image])
    layer = Layer.objects.get()
    assert list(stream_records(corpus=layer.corpus, layer=layer)) == [image]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (layered(("1", 0, 2), ("2", 0, 2)), "image '7'.*0:0-2"),
        (layered(("1", 0, 2), ("1", 3, 4)), "image '7'.*chain 1 appears twice"),
        (replace(an_image("7", MAN), layer=a_layer(HAT)), "image '7'.*0:0-2.*caption"),
        (an_image("7", MAN, objects=[boxed("1", 1, 1, 501, 20)]), "image '7'.*1,1,501,20.*500 x 375"),
        (replace(an_image("7", MAN), external_id="x" * 101), "image '7'.*100 characters"),
        (replace(an_image("7", MAN), split="x" * 41), "image '7'.*split"),
        (replace(an_image("7", MAN), filename="x" * 300), "image '7'.*file name"),
        (replace(an_image("7", MAN), filename="../7.jpg"), "image '7'.*file name"),
        (replace(an_image("7", MAN), id="../7"), "id.*refused"),
        (replace(an_image("7", "A dog", layered=False), captions=(CaptionRecord("a\x00b"),)), r"U\+0000"),
        (replace(an_image("7", "A dog", layered=False), captions=(CaptionRecord("a\ud800b"),)), r"U\+D800"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(data_dir: Path, record: ImageRecord, problem: str):
    before = everything(data_dir)
    with pytest.raises(FormatError, match=problem) as refusal:
        take([an_image("1", MAN), record])
    assert "\n" not in str(refusal.value)
    assert everything(data_dir) == before


@pytest.mark.parametrize("name", ["two words", "", "x" * 101, "a/b", "../b"])
def test_a_name_that_is_none_is_refused(name: str):
    with pytest.raises(IntakeError, match="expected letters, digits, hyphens or underscores"):
        take(some_images(1), name=name)


def test_a_size_is_filled_from_the_picture_and_must_agree_with_it(tmp_path: Path):
    picture = a_picture(tmp_path / "a.png", size=(40, 30))
    image = replace(an_image("1", MAN, size=(0, 0)), picture=picture)
    take([image])
    assert list(Image.objects.values_list("width", "height")) == [(40, 30)]
    with pytest.raises(IntakeError, match=r"a\.png: is 40 x 30 pixels; expected 41 x 30.*image '1'"):
        take([replace(image, width=41, height=30)], name="other")
    with pytest.raises(FormatError, match="reaches outside the picture of 40 x 30"):
        take([replace(image, layer=a_layer(MAN, objects=[boxed("1", 1, 1, 41, 5)]))], name="other")


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path):
    with pytest.raises(UnknownName, match="unknown format 'word'; known: .*coco.*entities"):
        import_corpus(name="c", path=tmp_path, format="word")


def test_a_folder_of_pictures_that_holds_none_of_them_is_refused(tmp_path: Path, data_dir: Path):
    source = tmp_path / "c.token.txt"
    source.write_text("7.jpg#0\tA dog .\n")
    (tmp_path / "pictures").mkdir()
    with pytest.raises(IntakeError, match=r"pictures: holds no picture of the 1 images; expected 7\.jpg"):
        import_corpus(name="c", path=source, format="flickr8k", images=tmp_path / "pictures")
    with pytest.raises(IntakeError, match="none: no such folder; expected the folder of pictures"):
        import_corpus(name="c", path=source, format="flickr8k", images=tmp_path / "none")
    assert not Corpus.objects.exists()


def test_pictures_are_kept_and_found_again(tmp_path: Path, data_dir: Path):
    source = tmp_path / "c.token.txt"
    source.write_text("7.jpg#0\tA dog .\n")
    a_picture(tmp_path / "pictures" / "7.jpg", "red")
    report = import_corpus(name="c", path=source, format="flickr8k", images=tmp_path / "pictures")
    assert report.pictures == 1
    [record] = stream_records(corpus=Corpus.objects.get())
    assert record.picture is not None and record.picture.is_relative_to(data_dir)
    with Picture.open(record.picture) as picture:
        assert picture.size == (record.width, record.height) == (40, 30)


def test_images_keep_their_order_through_many_chunks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layer_rows, "LAYER_IMAGES_PER_TRANSACTION", 3)
    records = list(reversed(some_images(10)))
    corpus = a_corpus("c", records)
    assert [r.id for r in stream_records(corpus=corpus)] == [r.id for r in records]
    assert list(stream_records(corpus=corpus, layer=Layer.objects.get())) == records
