"""The annotation files of Flickr30k Entities: canonical output, strict reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.protocol.terms import Box, Chain, LayerObject
from tests.formats.reading import error_of, layer_of, put, read, write

CANONICAL = """\
<annotation>
  <filename>a.jpg</filename>
  <size><width>500</width><height>375</height><depth>3</depth></size>
  <object><name>2</name><name>1</name><bndbox><xmin>10</xmin><ymin>20</ymin><xmax>500</xmax><ymax>375</ymax></bndbox></object>
  <object><name>1</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>1</xmax><ymax>1</ymax></bndbox></object>
  <object><name>3</name><scene>1</scene><nobndbox>0</nobndbox></object>
  <object><name>4</name><scene>0</scene><nobndbox>1</nobndbox></object>
</annotation>
"""
SENTENCE = "[/EN#1/people A man] in [/EN#2/clothing blue] in [/EN#3/scene a park] .\n"
BOX = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox>"
SIZE = "<size><width>5</width><height>5</height><depth>3</depth></size>"


def annotated(folder: Path, text: str | bytes) -> Path:
    put(folder / "Sentences" / "a.txt", SENTENCE)
    put(folder / "Annotations" / "a.xml", text)
    return folder


def test_a_canonical_file_round_trips_byte_for_byte(tmp_path):
    (record,) = read("entities", annotated(tmp_path / "in", CANONICAL))
    assert (record.filename, record.width, record.height) == ("a.jpg", 500, 375)
    assert layer_of(record).objects == (
        LayerObject(("2", "1"), Box(10, 20, 500, 375)),
        LayerObject(("1",), Box(1, 1, 1, 1)),
        LayerObject(("3",), None, scene=True),
        LayerObject(("4",), None, nobndbox=True),
    )
    out = write("entities", [record], tmp_path / "out")
    assert (out / "Annotations" / "a.xml").read_text() == CANONICAL


def test_a_chain_that_only_the_annotation_names_is_kept_without_mentions(tmp_path):
    (record,) = read("entities", annotated(tmp_path, CANONICAL))
    assert layer_of(record).chains[-1] == Chain("4", ())


def test_any_layout_and_unknown_elements_are_read(tmp_path):
    loose = CANONICAL.replace("><", ">\n\t<").replace(
        "<annotation>", "<?xml version='1.0'?>\n<annotation>\n<folder>x</folder>", 1
    )
    assert read("entities", annotated(tmp_path / "1", loose)) == read(
        "entities", annotated(tmp_path / "2", CANONICAL)
    )


def test_names_that_xml_would_misread_are_escaped(tmp_path):
    (record,) = read("entities", annotated(tmp_path / "in", CANONICAL))
    odd = type(record)("a&<b>'\"", "a&<b>'\".jpg", record.captions, width=500, height=375, layer=record.layer)
    out = write("entities", [odd], tmp_path / "out")
    assert "a&amp;&lt;b&gt;" in (out / "Annotations" / "a&<b>'\".xml").read_text()
    assert read("entities", out) == [odd]


def test_several_chains_without_a_box_in_one_object_become_one_object_each(tmp_path):
    flags = "<scene>0</scene><nobndbox>1</nobndbox>"
    text = f"<annotation><object><name>1</name><name>2</name>{flags}</object></annotation>"
    (record,) = read("entities", annotated(tmp_path, text))
    assert layer_of(record).objects == (
        LayerObject(("1",), None, nobndbox=True),
        LayerObject(("2",), None, nobndbox=True),
    )


@pytest.mark.parametrize(
    ("inside", "problem"),
    [
        (
            f"{SIZE}<object><name>1</name>{BOX.replace('3<', '6<')}</object>",
            "1,2,6,4 reaches outside the picture",
        ),
        (
            f"{SIZE}<object><name>1</name>{BOX.replace('4<', '6<')}</object>",
            "1,2,3,6 reaches outside the picture",
        ),
        (f"<object><name>1</name>{BOX.replace('>1<', '>0<')}</object>", "box 0,2,3,4 is not valid"),
        (f"<object><name>1</name>{BOX.replace('>1<', '>9<')}</object>", "box 9,2,3,4 is not valid"),
        (f"<object><name>1</name>{BOX.replace('>1<', '>1,5<')}</object>", "<xmin> is '1,5'"),
        (f"<object><name>1</name>{BOX.replace('>1<', '>-1<')}</object>", "<xmin> is '-1'"),
        (f"<object><name>1</name>{BOX.replace('>1<', '><')}</object>", "<xmin> is ''"),
        ("<object><name>1</name><bndbox><xmin>1</xmin></bndbox></object>", "the box has no <ymin>"),
        (f"<object><name>1</name>{BOX}{BOX}</object>", "the object has two boxes"),
        (f"<object>{BOX}</object>", "the object has no <name>"),
        (f"<object><name>1</name><name>1</name>{BOX}</object>", "names chain 1 twice"),
        (f"<object><name>0</name>{BOX}</object>", "<name> is '0'"),
        (f"<object><name>man</name>{BOX}</object>", "<name> is 'man'"),
        ("<object><name>1</name></object>", "neither a box nor a flag"),
        (f"<object><name>1</name>{BOX}<scene>1</scene></object>", "both a box and a flag"),
        ("<object><name>1</name><scene>2</scene></object>", "a flag is neither 0 nor 1"),
        ("<object><name>1</name><scene>1</scene></object>" * 2, "chain 1 has a second object without box"),
    ],
)
def test_a_bad_object_is_named_with_its_line(tmp_path, inside, problem):
    error = error_of("entities", annotated(tmp_path, f"<annotation>\n{inside}\n</annotation>"))
    assert error.file.endswith("a.xml")
    assert error.line == 2
    assert problem in error.problem


def test_a_box_outside_is_found_though_the_size_comes_last(tmp_path):
    text = f"<annotation><object><name>1</name>{BOX.replace('3<', '6<')}</object>{SIZE}</annotation>"
    assert "reaches outside the picture" in error_of("entities", annotated(tmp_path, text)).problem


def test_where_the_size_is_unknown_no_box_is_outside(tmp_path):
    text = f"<annotation><object><name>1</name>{BOX}</object></annotation>"
    assert layer_of(read("entities", annotated(tmp_path, text))[0]).objects[0].box == Box(1, 2, 3, 4)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE annotation [<!ENTITY a "x">]>\n<annotation>&a;</annotation>',
        '<!DOCTYPE annotation [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<annotation><filename>&a;</filename></annotation>',
        '<!DOCTYPE annotation SYSTEM "http://example.org/x.dtd">\n<annotation/>',
        "<!DOCTYPE annotation>\n<annotation/>",
        '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n<annotation>&b;</annotation>',
    ],
)
def test_a_dtd_or_an_entity_is_refused(tmp_path, text):
    error = error_of("entities", annotated(tmp_path, text))
    assert error.problem == "declares a DTD or an entity, which is refused"
    assert error.line == 1


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("<annotation>\n<object>", 2, "is not XML"),
        ("<annotation>\n</object>", 2, "is not XML"),
        ("", 1, "is not XML"),
        ("<annotation>\n&amp &x;</annotation>", 2, "is not XML"),
        (b"<annotation>\n<filename>\xe9.jpg</filename></annotation>", 2, "is not XML"),
        ("<annotation>" * 100, 1, "is nested more than 16 deep"),
        (b"<annotation>" + b" " * 17_000_000, None, "is larger than 16777216 bytes"),
        ("<opml></opml>", 1, "begins with <opml>"),
        ("<annotation><filename>b.jpg</filename></annotation>", None, "<filename> is 'b.jpg'"),
        ("<?xml version='1.0' encoding='nonsense'?><annotation/>", None, "has an unreadable encoding"),
    ],
)
def test_what_is_no_annotation_is_refused(tmp_path, text, line, problem):
    error = error_of("entities", annotated(tmp_path, text))
    assert (error.line, problem in error.problem) == (line, True)
