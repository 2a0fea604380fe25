"""Flickr30k Entities on disk: the notation of sentences, the folder, exact bytes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.formats import FORMATS
from annotation.formats.entities_notation import BadNotation, parse_sentence
from annotation.formats.entities_xml import print_annotation
from annotation.protocol.terms import (
    NOT_VISUAL,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from tests.formats.reading import error_of, layer_of, put, read, refused_to_write, write

SENTENCE = "[/EN#1/people A man] in [/EN#2/clothing blue] .\n"


def tree(folder: Path, *below: str) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for name in below for f in (folder / name).iterdir()}


def corpus(folder: Path, **files: str) -> Path:
    """Write a folder with one image `a`, or with the given sentences by id."""
    for id, text in (files or {"a": SENTENCE}).items():
        put(folder / "Sentences" / f"{id}.txt", text)
    return folder


def test_the_real_sample_round_trips_byte_for_byte(real_data, tmp_path):
    sample = real_data / "entities_sample"
    records = read("entities", sample)
    assert (len(records), sum(len(record.captions) for record in records)) == (5, 25)
    assert all(record.picture and record.picture.is_file() for record in records)
    out = write("entities", records, tmp_path / "out")
    assert tree(out, "Sentences") == tree(sample, "Sentences")
    # The sample has no annotation files; readers open one for every image.
    assert {file.stem for file in (out / "Annotations").iterdir()} == {record.id for record in records}


def test_the_real_sample_with_the_real_lists_takes_its_splits_from_them(real_data, tmp_path):
    shutil.copytree(real_data / "entities_sample" / "Sentences", tmp_path / "Sentences")
    for name in ("train.txt", "val.txt", "test.txt", "UNRELATED_CAPTIONS"):
        shutil.copy(real_data / "flickr30k" / name, tmp_path / name)
    splits = {record.id: record.split for record in read("entities", tmp_path)}
    assert len(splits) == 5
    assert set(splits.values()) <= {"train", "val", "test"}
    listed = (tmp_path / "train.txt").read_text().split()
    in_train = [id for id, split in splits.items() if split == "train"]
    assert in_train == [id for id in listed if id in splits]


def test_mentions_chains_and_what_is_not_visual_come_out_of_the_brackets(tmp_path):
    text = (
        "[/EN#9/people/clothing A man] and [/EN#0/notvisual it] see [/EN#0/notvisual each other]\n"
        "[/EN#9/people He] .\n"
    )
    (record,) = read("entities", corpus(tmp_path, a=text))
    assert [caption.text for caption in record.captions] == ["A man and it see each other", "He ."]
    assert layer_of(record).chains == (
        Chain(
            "9",
            (
                Mention(0, 0, 2, ("A", "man"), ("people", "clothing")),
                Mention(1, 0, 1, ("He",), ("people",)),
            ),
        ),
        Chain(NOT_VISUAL, (Mention(0, 3, 4, ("it",), ("notvisual",)),)),
        Chain(NOT_VISUAL, (Mention(0, 5, 7, ("each", "other"), ("notvisual",)),)),
    )


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("[/EN#1/people A man walks", "the mention of chain 1 is not closed"),
        ("[/EN#1/people A man], who walks", "the mention of chain 1 is not closed"),
        ("[/EN#1/people A [/EN#2/other man]]", "opens a mention inside one that is not closed"),
        ("[/EN#1/people]", "(word 1) is empty"),
        ("[/EN#1/people ] walks", "before word 2 is empty"),
        ("[/EN#/people A man]", "the chain id ''"),
        ("[/EN#one/people A man]", "the chain id 'one'"),
        ("[/EN#-1/people A man]", "the chain id '-1'"),
        ("[/EN#1 A man]", "names no type"),
        ("[/EN#1/ A man]", "names no type"),
        ("[/EN#1/people/ A man]", "names no type"),
        ("A man] walks", "the bracket of 'man]' (word 2) belongs to no mention"),
        ("A [big] man", "the bracket of '[big]' (word 2) belongs to no mention"),
        ("[EN#1/people A man]", "the bracket of '[EN#1/people' (word 1) belongs to no mention"),
        ("[/EN#1/people A [big man]", "the bracket of '[big' (word 3) belongs to no mention"),
        ("[/EN#1/people A man]]", "the bracket of 'man]]' (word 3) belongs to no mention"),
    ],
)
def test_a_broken_mention_names_file_line_and_word(tmp_path, sentence, problem):
    error = error_of("entities", corpus(tmp_path, a=f"{SENTENCE}{sentence}\n"))
    assert error.file.endswith("a.txt")
    assert error.line == 2
    assert problem in error.problem


@given(st.text(alphabet="[]/EN#01 ap"))
def test_any_sentence_is_either_read_or_refused(text):
    try:
        words, mentions = parse_sentence(text)
    except BadNotation:
        return
    assert all(0 <= m.start < m.end <= len(words) and m.types for m in mentions)
    assert "".join(words).count("[/EN#") == 0


def test_brackets_inside_a_word_survive(tmp_path):
    text = "[/EN#1/people A m[a]n] in b[l]ue .\n"
    out = write("entities", read("entities", corpus(tmp_path / "in", a=text)), tmp_path / "out")
    assert (out / "Sentences" / "a.txt").read_text() == text


def test_lists_and_unrelated_captions_survive_in_their_order(tmp_path):
    source = corpus(tmp_path / "in", **dict.fromkeys("abcde", SENTENCE * 2))
    put(source / "train.txt", "c\na\n")
    put(source / "test.txt", "b\n")
    put(source / "UNRELATED_CAPTIONS", "# format: <imageID> <sentence number>\nc 2\na 1\na 2\n")
    records = read("entities", source)
    assert [(r.id, r.split) for r in records] == [
        ("c", "train"),
        ("a", "train"),
        ("b", "test"),
        ("d", ""),
        ("e", ""),
    ]
    assert [[c.unrelated for c in r.captions] for r in records[:2]] == [[False, True], [True, True]]
    out = write("entities", records, tmp_path / "out")
    for name in ("train.txt", "test.txt", "UNRELATED_CAPTIONS"):
        assert (out / name).read_bytes() == (source / name).read_bytes()


def test_bom_crlf_and_blank_lines_at_the_end_change_nothing(tmp_path):
    plain_value = read("entities", corpus(tmp_path / "1", a=SENTENCE))
    put(tmp_path / "2" / "Sentences" / "a.txt", b"\xef\xbb\xbf" + SENTENCE.strip().encode() + b"\r\n\r\n\r\n")
    assert read("entities", tmp_path / "2") == plain_value


def test_lists_may_name_files(tmp_path):
    source = corpus(tmp_path / "in", **dict.fromkeys("abc", SENTENCE))
    put(source / "train.txt", "c.jpg\na.jpg\n")
    assert [(r.id, r.split) for r in read("entities", source)] == [("c", "train"), ("a", "train"), ("b", "")]


def test_lines_that_end_in_cr_alone_are_refused(tmp_path):
    put(corpus(tmp_path) / "Sentences" / "b.txt", b"A dog .\rA cat .\r")
    error = error_of("entities", tmp_path)
    assert (Path(error.file).name, error.line) == ("b.txt", 1) and "ends in CR alone" in error.problem


def test_hidden_files_and_a_folder_around_everything_are_no_hindrance(tmp_path):
    put(corpus(tmp_path / "wrapped") / "Sentences" / "._a.txt", b"\x00\x05")
    assert [record.id for record in read("entities", tmp_path)] == ["a"]


def test_images_that_are_not_covered_are_told_from_those_without_mentions(tmp_path):
    source = corpus(tmp_path / "in", a=SENTENCE, b="A dog .\n", c="A cat .\n")
    put(source / "NOT_COVERED", "c\nelsewhere\n")
    records = read("entities", source)
    assert [record.layer is not None for record in records] == [True, True, False]
    assert layer_of(records[1]) == LayerRecord()
    out = write("entities", records, tmp_path / "out")
    assert (out / "NOT_COVERED").read_text() == "c\n"
    assert not (write("entities", records[:2], tmp_path / "covered") / "NOT_COVERED").exists()


def test_an_image_with_objects_alone_is_covered_whatever_the_list_says(tmp_path):
    source = corpus(tmp_path, a="A dog .\n")
    drawn = print_annotation("a.jpg", 9, 9, [LayerObject(("1",), Box(1, 1, 2, 2))])
    put(source / "Annotations" / "a.xml", drawn)
    put(source / "NOT_COVERED", "a\n")
    error = error_of("entities", source)
    assert (Path(error.file).name, error.line) == ("NOT_COVERED", 1)
    assert "'a' has mentions or objects" in error.problem


@pytest.mark.parametrize(
    ("name", "text", "file", "line", "problem"),
    [
        ("NOT_COVERED", "\na\n", "NOT_COVERED", 2, "'a' has mentions or objects, and so is covered"),
        ("NOT_COVERED", "b\nb\n", "NOT_COVERED", 2, "'b' is listed a second time (first in line 1)"),
        ("Sentences/b.txt", f"{SENTENCE}\n{SENTENCE}", "b.txt", 2, "the caption is empty"),
        ("Sentences/b.txt", "\n", "b.txt", None, "holds no caption"),
        ("Sentences/b.txt", "A .\n" * 40_000, "b.txt", 32_768, "has more than 32767 captions"),
        ("Annotations/b.xml", "<annotation/>", "b.xml", None, "has no sentences beside it"),
        ("test.txt", "a\na\n", "test.txt", 2, "'a' is listed a second time (first in test.txt)"),
        ("UNRELATED_CAPTIONS", "# x\na 2\n", "UNRELATED_CAPTIONS", 2, "image a has no caption 2"),
        ("UNRELATED_CAPTIONS", "a two\n", "UNRELATED_CAPTIONS", 1, "'a two' is not a row"),
        ("UNRELATED_CAPTIONS", "a 0\n", "UNRELATED_CAPTIONS", 1, "image a has no caption 0"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, name, text, file, line, problem):
    put(corpus(tmp_path) / name, text)
    error = error_of("entities", tmp_path)
    assert Path(error.file).name == file
    assert error.line == line
    assert problem in error.problem


def test_a_sentence_file_of_another_encoding_names_line_and_byte(tmp_path):
    put(tmp_path / "Sentences" / "a.txt", f"{SENTENCE}Caf\xe9\n".encode("latin-1"))
    error = error_of("entities", tmp_path)
    assert (error.line, error.problem) == (2, f"byte {len(SENTENCE) + 3} (0xe9) is not UTF-8")


def test_a_folder_without_sentences_is_refused(tmp_path):
    assert "holds no folder Sentences" in error_of("entities", tmp_path).problem
    (tmp_path / "Sentences").mkdir()
    assert error_of("entities", tmp_path).problem == "holds no images"


def record(text: str, *mentions: tuple[str, int, int], split: str = "") -> ImageRecord:
    """Return an image with one caption and the mentions (chain, start, end) in it."""
    caption_record = CaptionRecord(text)
    chains = tuple(
        Chain(id, (Mention(0, start, end, caption_record.words[start:end], ("other",)),))
        for id, start, end in mentions
    )
    return ImageRecord("a", "a.jpg", (caption_record,), split=split, layer=LayerRecord(chains))


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (record("A [big dog"), "the bracket at the edge of '[big' (word 2)"),
        (record("A big] dog", ("1", 0, 2)), "the bracket at the edge of 'big]' (word 2)"),
        (record("A big dog", ("1", 0, 3), ("2", 1, 3)), "the mention 'big dog' overlaps the one before it"),
        (record("A big dog", ("c1", 0, 3)), "the chain id 'c1' is not a number"),
        (record("A big dog", split="other"), "the split 'other' has no list"),
        (record("\ufeffA dog"), "the file would begin with U+FEFF"),
        (
            replace(record("A dog"), layer=LayerRecord((Chain("4", ()),))),
            "chain 4 of 'a' has no mention and no object",
        ),
        (ImageRecord("a", "a.jpg", ()), "the image has no caption"),
        (ImageRecord("../a", "a.jpg", (CaptionRecord("A dog"),)), "the id '../a' is refused"),
    ],
)
def test_what_the_notation_cannot_say_is_refused_clearly(tmp_path, image, problem):
    assert problem in refused_to_write("entities", [image], tmp_path / "out").problem


def test_an_image_that_comes_twice_is_refused_on_writing(tmp_path):
    twice = [record("A dog"), record("A dog")]
    assert "already exists" in refused_to_write("entities", twice, tmp_path / "out").problem


def test_a_record_of_no_layer_is_written_as_plain_sentences(tmp_path):
    image = ImageRecord("a", "a.png", (CaptionRecord("A dog's ball.", ("A", "dog", "'s", "ball", ".")),))
    out = write("entities", [image], tmp_path / "out")
    assert (out / "Sentences" / "a.txt").read_text() == "A dog 's ball .\n"
    drawn = (out / "Annotations" / "a.xml").read_text()
    assert drawn == print_annotation("a.png", 0, 0, ())


def test_what_was_written_is_counted(tmp_path):
    layer = LayerRecord(
        (Chain("1", (Mention(0, 0, 1, ("Dogs",), ("animals",)),)),),
        (LayerObject(("1",), Box(1, 1, 2, 2)), LayerObject(("1",), None, nobndbox=True)),
    )
    image = ImageRecord("a", "a.jpg", (CaptionRecord("Dogs run"),), split="val", layer=layer)
    (tmp_path / "out").mkdir()
    written = FORMATS.get("entities").write([image], tmp_path / "out")
    assert written.counts == {"images": 1, "captions": 1, "mentions": 1, "boxes": 1}
    assert written.excluded == {}
    assert {file.name for file in written.files} == {"Sentences", "Annotations", "val.txt"}
