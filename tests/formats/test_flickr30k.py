"""Flickr30k JSON: captions under a file name, and a picture's path."""

from __future__ import annotations

import json

import pytest

from tests.formats.reading import error_of, put, read, write


def test_the_real_file_gives_its_thousand_images_and_is_written_as_it_was_read(real_data, tmp_path):
    source = real_data / "flickr30k" / "validation.json"
    records = read("flickr30k", source)
    assert len(records) == 1000
    assert all(len(record.captions) == 5 for record in records)
    assert records[0].id == "100652400"
    out = write("flickr30k", records, tmp_path / "out")
    assert (out / "captions.json").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("key", "entries", "captions", "filename"),
    [
        ("a.jpg", ["A dog .", "flickr30k-images/a.jpg"], 1, "a.jpg"),
        ("a.jpg", ["A dog .", "A cat ."], 2, "a.jpg"),
        ("a.jpg", ["A dog .", "My file a.jpg"], 2, "a.jpg"),
        ("a b.jpg", ["A dog .", "my pictures/a b.jpg"], 1, "a b.jpg"),
        ("a", ["A dog .", "images\\a.JPG"], 1, "a.JPG"),
        ("a.jpg.1", ["A dog .", "images/a.jpg.1"], 1, "a.jpg.1"),
        ("a.jpg", ["flickr30k-images/a.jpg"], 0, "a.jpg"),
        ("dog", ["A dog"], 1, "dog"),
    ],
)
def test_a_last_string_that_looks_like_a_path_is_no_caption(tmp_path, key, entries, captions, filename):
    file = put(tmp_path / "x.json", json.dumps({key: entries}))
    (record,) = read("flickr30k", file)
    assert (len(record.captions), record.filename) == (captions, filename)


def test_a_picture_is_found_by_the_base_name_of_its_path_only(tmp_path):
    put(tmp_path / "images" / "a.jpg", b"picture")
    put(tmp_path / "secret.jpg", b"picture")
    inside = put(tmp_path / "1" / "x.json", '{"a.jpg": ["A dog .", "elsewhere/a.jpg"]}')
    outside = put(tmp_path / "2" / "x.json", '{"b.jpg": ["A dog .", "../secret.jpg"]}')
    assert read("flickr30k", inside, tmp_path / "images")[0].picture == tmp_path / "images" / "a.jpg"
    assert read("flickr30k", outside, tmp_path / "images")[0].picture is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a.jpg": ["A dog ."], "a.jpg": ["A cat ."]}', "image 'a.jpg' appears a second time"),
        (
            '{"a.jpg": ["A dog ."], "a.JPG": ["A cat ."]}',
            "image 'a.JPG' appears a second time: it is 'a.jpg' too",
        ),
        ('{"a.jpg": "A dog ."}', "image 'a.jpg' has 'A dog .'"),
        ('{"a.jpg": []}', "image 'a.jpg' has []"),
        ('{"a.jpg": ["A dog .", 3]}', "image 'a.jpg' has the caption 3"),
        ('{"a.jpg": ["A dog .", null]}', "image 'a.jpg' has the caption None"),
        ('{"a.jpg": ["A dog .", " "]}', "caption 2 is empty"),
        ('{"images/.a.jpg": ["A dog ."]}', "the id '.a' is refused"),
        ('{"..": ["A dog ."]}', "'..' is refused"),
        ('["A dog ."]', "holds no images"),
        ("{}", "holds no images"),
    ],
)
def test_a_bad_entry_is_named(tmp_path, text, problem):
    assert problem in error_of("flickr30k", put(tmp_path / "x.json", text)).problem
