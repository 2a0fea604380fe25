"""Boxes of other tools: their exports become a layer, and written layers can be read again."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.formats import FORMATS
from annotation.formats.base import SourceBox, SourceImage
from annotation.formats.layers.conversion import BoxChanges, layer_of_boxes
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from phrasebox import balance
from phrasebox.balance import MENTIONS, Tally, counted_by
from phrasebox.names import FILE, SOURCE
from phrasebox.text_files import FormatError
from tests.formats import records as make
from tests.formats.reading import put

#: A job of two pictures as written by CVAT 2.
CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><task><id>7</id><labels><label><name>dog</name><attributes/></label></labels></task></meta>
  <image id="0" name="beach/a.jpg" width="640" height="480">
    <box label="dog" source="manual" occluded="0" xtl="10.00" ytl="20.00" xbr="110.50" ybr="220.00">
      <attribute name="phrase">a brown dog</attribute>
      <attribute name="breed">terrier</attribute>
    </box>
    <box label="man" source="auto" occluded="1"
      xtl="-5.20" ytl="0.00" xbr="40.00" ybr="90.00" group_id="3">
    </box>
    <box label="kite" source="manual" occluded="0" xtl="100.00" ytl="100.00" xbr="200.00" ybr="200.00"
      rotation="90.00">
    </box>
    <polygon label="sea" points="1,1;5,5;9,1"></polygon>
    <mask label="sand" rle="3, 5" left="1" top="1" width="4" height="2"></mask>
    <tag label="sunny" source="manual"></tag>
  </image>
  <image id="1" name="b.jpg" width="64" height="48"></image>
</annotations>
"""


def result(kind: str, id: str, **value: Any) -> dict[str, Any]:
    """Return a part of an annotation of Label Studio, of a picture of 200 x 100."""
    size = {"original_width": 200, "original_height": 100, "image_rotation": 0}
    return {
        "id": id,
        "type": kind,
        "from_name": "x",
        "to_name": "img",
        "origin": "manual",
        **size,
        "value": value,
    }


#: JSON as exported by Label Studio 1.x: an uploaded picture, a local file, and a skipped one.
LABEL_STUDIO = [
    {
        "id": 1,
        "annotations": [
            {"id": 3, "was_cancelled": True, "result": []},
            {
                "id": 4,
                "was_cancelled": False,
                "ground_truth": False,
                "result": [
                    result("rectanglelabels", "r1", x=10, y=20, width=30, height=40, rotation=0,
                           rectanglelabels=["dog", "pet"]),
                    result("textarea", "r1", x=10, y=20, width=30, height=40, text=["a  brown dog"]),
                    result("choices", "r1", x=10, y=20, width=30, height=40, choices=["wet"]),
                    result("polygonlabels", "r2", points=[[1, 1]], polygonlabels=["sea"]),
                    result("choices", "c1", choices=["sunny"]),
                    {"type": "relation", "from_id": "r1", "to_id": "r2", "direction": "right"},
                ],
            },
            {"id": 5, "was_cancelled": False, "result": []},
        ],
        "file_upload": "3f2a9c1b-a_b.jpg",
        "data": {"image": "/data/upload/2/3f2a9c1b-a_b.jpg"},
        "predictions": [{"result": []}],
    },
    {
        "id": 2,
        "annotations": [
            {"result": [result("rectanglelabels", "r9", x=50, y=0, width=20, height=20, rotation=90,
                               rectanglelabels=["kite"])]}
        ],
        "data": {"img": "/data/local-files/?d=pictures/c%20d.jpg"},
        "predictions": [],
    },
    {"id": 3, "annotations": [{"was_cancelled": True, "result": []}], "data": {"image": "s3://b/e.jpg"}},
]  # fmt: skip


def read(key: str, path: Path) -> list[SourceImage]:
    return list(FORMATS.get(key).read_layer(path))


def counted(key: str, path: Path) -> tuple[list[SourceImage], dict[str, int]]:
    """Return the images of a source, and what it skips."""
    with counted_by(tally := Tally()):
        images = read(key, path)
    sheet = tally.sheet()
    assert sheet.balanced and not any(line.taken for line in sheet.lines)
    return images, {line.kind: line.found for line in sheet.lines}


def converted(
    source: SourceImage, captions: Sequence[CaptionRecord] = ()
) -> tuple[LayerRecord, dict[str, int]]:
    changes = BoxChanges()
    layer = layer_of_boxes(source.boxes, (source.width, source.height), captions, changes)
    return layer, {name: number for name in ("outside", "empty") if (number := getattr(changes, name))}


def test_cvat_is_read_with_its_phrases_and_counts_what_a_layer_cannot_hold(tmp_path: Path):
    (first, second), left = counted("cvat", put(tmp_path / "annotations.xml", CVAT))
    assert first.names == ((FILE, "beach/a.jpg"),) and second.names == ((FILE, "b.jpg"),)
    assert (second.width, second.height, second.boxes) == (64, 48, ())
    assert left == {
        balance.ATTRIBUTES: 2,  # the breed, and that the man is partly hidden
        balance.GROUPS: 1,
        balance.ROTATIONS: 1,
        balance.OUTLINES: 1,
        balance.MASKS: 1,
        balance.IMAGE_LABELS: 1,
    }
    layer, excluded = converted(first)
    assert layer.chains == (
        Chain("1", (), "dog", ("a brown dog",)),
        Chain("2", (), "man"),
        Chain("3", (), "kite"),
    )
    assert [thing.box for thing in layer.objects] == [
        Box(11, 21, 111, 220),
        Box(1, 1, 40, 90),
        Box(101, 101, 200, 200),
    ]
    assert [thing.by_model for thing in layer.objects] == [False, True, False] and not excluded


def test_label_studio_is_read_by_the_name_before_the_upload(tmp_path: Path):
    export = put(tmp_path / "export.json", json.dumps(LABEL_STUDIO))
    (first, second), left = counted("label_studio", export)
    assert first.names == ((FILE, "data/upload/2/3f2a9c1b-a_b.jpg"), (FILE, "a_b.jpg"))
    assert second.names == ((FILE, "pictures/c d.jpg"),)
    assert left == {
        balance.PREDICTIONS: 1,
        balance.FURTHER_ANNOTATIONS: 1,
        balance.ATTRIBUTES: 1,
        balance.OUTLINES: 1,
        balance.IMAGE_LABELS: 1,
        balance.RELATIONS: 1,
        balance.ROTATIONS: 1,
    }
    layer, _ = converted(first)
    box = Box(21, 21, 80, 60)
    phrases = ("a brown dog",)
    assert layer == LayerRecord(
        (Chain("1", (), "dog", phrases), Chain("2", (), "pet", phrases)), (LayerObject(("1", "2"), box),)
    )
    # A quarter turn about the upper left corner at (100, 0): 40 x 20 pixels lie to its left, 20 x 40.
    assert converted(second)[0].objects == (LayerObject(("1",), Box(81, 1, 100, 40)),)


INSTANCES = {
    "images": [
        {"id": 9, "file_name": "COCO_val2014_000000000009.jpg", "width": 50, "height": 40},
        {"id": 2, "file_name": "mine.jpg", "width": 50, "height": 40},
    ],
    "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}],
    "annotations": [
        {"id": 70, "image_id": 2, "category_id": 18, "bbox": [0.4, 0, 10.2, 20], "segmentation": [[1, 2, 3]]},
        {"id": 71, "image_id": 9, "category_id": 1, "bbox": [5, 5, 5, 5], "iscrowd": 1},
        {"id": 72, "image_id": 9, "category_id": 1, "bbox": [45, 5, 20, 5], "attributes": {"occluded": 0}},
        {"id": 73, "image_id": 9, "category_id": 1, "bbox": [60, 5, 20, 5]},
        {"id": 74, "image_id": 9, "category_id": 1, "bbox": [1, 5, 0, 5]},
    ],
}  # fmt: skip


def test_coco_instances_name_images_by_file_and_by_the_id_in_it(tmp_path: Path):
    file = put(tmp_path / "instances_val2014.json", json.dumps(INSTANCES))
    (first, second), left = counted("coco", file)
    assert first.names == ((FILE, "COCO_val2014_000000000009.jpg"), (SOURCE, "9"))
    assert second.names == ((FILE, "mine.jpg"),)  # 2 is the number of listed files
    assert left == {balance.CROWDS: 1, balance.OUTLINES: 1}
    layer, excluded = converted(first)
    assert layer.objects == (LayerObject(("1",), Box(46, 6, 50, 10)),)
    assert excluded == {"outside": 1, "empty": 1}
    assert converted(second)[0].chains == (Chain("1", (), "dog"),)


def test_the_expressions_of_refcoco_stand_with_their_boxes(tmp_path: Path):
    refs = [
        {"ref_id": 1, "ann_id": 70, "image_id": 2, "split": "testA", "sentences": [{"raw": "The dog."}]},
        {"ref_id": 2, "ann_id": 70, "image_id": 2, "split": "testA", "sentences": [{"sent": "left one"}]},
        {"ref_id": 3, "ann_id": 99, "image_id": 2, "split": "val", "sentences": [{"sent": "lost"}]},
    ]
    put(tmp_path / "instances.json", json.dumps(INSTANCES))
    put(tmp_path / "refs.json", json.dumps(refs))
    (image,), left = counted("refcoco", tmp_path)
    assert image.names == ((FILE, "mine.jpg"), (SOURCE, "2"))
    assert left == {balance.REFERENCE_SPLITS: 3, MENTIONS: 1}
    captions = [CaptionRecord("A dog runs ."), CaptionRecord("the dog")]
    (chain,) = converted(image, captions)[0].chains
    # A label equal to a caption is a mention of it, whatever its case and its full stop.
    assert chain == Chain("1", (Mention(1, 0, 2, ("the", "dog"), ("other",)),), "dog", ("left one",))


def test_the_published_pickles_of_refcoco_are_read_as_they_are(tmp_path: Path):
    """As Python 2 wrote them, in the protocols 0 and 2, and as Python 3 writes them."""
    expected = None
    refs = [
        {"ann_id": 70, "split": "val", "sentences": [{"raw": "the dog", "sent_id": 0, "tokens": ["dog"]}]}
    ]
    first = b"(lp0\n(dp1\nS'ann_id'\np2\nL70L\nsS'split'\np3\nVval\np4\nsS'sentences'\np5\n"
    old = first + b"(lp6\n(dp7\nS'raw'\np8\nS'caf%s'\nsasa."
    put(tmp_path / "instances.json", json.dumps(INSTANCES))
    file = tmp_path / "refs(unc).p"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        file.write_bytes(pickle.dumps(refs, protocol))
        (image,), left = counted("refcoco", tmp_path)
        assert image.boxes[0].phrases == ("the dog",) and left == {balance.REFERENCE_SPLITS: 1}
        expected = expected or image
        assert image == expected
    for written, read_as in ((b"\\xc3\\xa9", "café"), (b"\\xe9", "café")):
        file.write_bytes(old % written)
        (image,), _ = counted("refcoco", tmp_path)
        assert image.boxes[0].phrases == (read_as,)


class _Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("harm",)


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nmkdir\n(S'harm'\ntR.",  # GLOBAL
        b"(S'harm'\nios\nmkdir\n.",  # INST
        *(pickle.dumps([{"ann_id": _Harm()}], protocol) for protocol in (2, 4)),
        *(pickle.dumps(value) for value in (np.arange(3), Path("harm"), {"ann_id": 1}, [3], "text")),
        b"\x80\x02]q\x00.",  # no references
        b"\x80\x02\x82\x01.",  # an extension
        b"\x80\x02U\x04harmQ.",  # a persistent id
        pickle.dumps([{"ann_id": 70}])[:-9],
        b"",
        b"[]",
    ],
)
def test_any_other_pickle_is_refused_in_a_line_and_runs_nothing(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "instances.json", json.dumps(INSTANCES))
    (tmp_path / "refs(unc).p").write_bytes(data)
    with pytest.raises(FormatError, match=r"^[^\n]*refs\(unc\)\.p[^\n]*expected [^\n]+$"):
        read("refcoco", tmp_path)
    assert not (tmp_path / "harm").exists()


def test_two_files_of_references_are_refused_with_both(tmp_path: Path):
    put(tmp_path / "instances.json", json.dumps(INSTANCES))
    for name in ("refs(google).p", "refs(umd).p"):
        (tmp_path / name).write_bytes(pickle.dumps([]))
    with pytest.raises(
        FormatError, match=r"2 such files \(refs\(google\)\.p, refs\(umd\)\.p\); .*one file of ref"
    ):
        read("refcoco", tmp_path)


def test_visual_genome_is_read_with_and_without_the_data_of_its_images(tmp_path: Path):
    regions = [
        {"region_id": 5, "image_id": 61, "x": -2, "y": 3, "width": 12, "height": 9, "phrase": "a red  car"},
        {"region_id": 6, "image_id": 61, "x": 1, "y": 3, "width": 12, "height": 9, "phrase": "a red car"},
    ]
    put(tmp_path / "region_descriptions.json", json.dumps([{"id": 61, "regions": regions}]))
    (image,) = read("visual_genome", tmp_path)
    assert (image.names, image.width) == (((FILE, "61.jpg"),), 0)
    # Two boxes have the phrase: it is no label of either.
    chains = converted(image, [CaptionRecord("a red car")])[0].chains
    assert chains == (Chain("1", (), "", ("a red car",)), Chain("2", (), "", ("a red car",)))
    data = [{"image_id": 61, "width": 80, "height": 60, "coco_id": 42, "flickr_id": None}]
    put(tmp_path / "image_data.json", json.dumps(data))
    (image,) = read("visual_genome", tmp_path)
    assert image.names == ((FILE, "61.jpg"), (SOURCE, "42"))
    assert (image.width, image.height) == (80, 60)


@pytest.mark.parametrize(
    ("key", "name", "text", "problem"),
    [
        ("cvat", "annotations.xml", CVAT.replace("10.00", "1_0"), "beach/a.jpg.*xtl is '1_0'"),
        ("cvat", "annotations.xml", "<annotations><track id='0'/></annotations>", "tracks of a video"),
        ("cvat", "annotations.xml", CVAT[:400], "line [0-9]+: is not XML"),
        ("cvat", "annotations.xml", f"<!DOCTYPE a [<!ENTITY b 'c'>]>{CVAT[39:]}", "DTD"),
        ("label_studio", "a.json", '[{"image": "a.jpg", "label": []}]', "'annotations' is missing"),
        ("label_studio", "a.json", "[]", "holds no tasks"),
        ("coco", "instances.json", '{"images": [], "annotations": 3}', 'no list "annotations"'),
        ("coco", "instances.json", json.dumps(INSTANCES).replace("18", "19", 1), "category 18 is not"),
        ("coco", "instances.json", json.dumps(INSTANCES).replace("[5, 5, 5, 5]", "[NaN]"), "instances.json"),
        ("visual_genome", "region_descriptions.json", '[{"id": 1, "regions": [{}]}]', "x. is missing"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(key: str, name: str, text: str, problem: str, tmp_path: Path):
    with pytest.raises(FormatError, match=problem):
        read(key, put(tmp_path / name, text).parent)


edges = st.tuples(st.integers(0, make.SIDE), st.integers(0, make.SIDE)).filter(lambda side: side[0] < side[1])
words = st.text("aé日 &<\"'", min_size=1, max_size=6).map(lambda text: " ".join(text.split())).filter(bool)


@st.composite
def labelled_layers(draw: st.DrawFn) -> LayerRecord:
    """Draw a layer as from another tool: a label for each chain, some phrases, boxes of one or two."""
    chains = [
        Chain(id, (), draw(words), tuple(draw(st.lists(words, max_size=2, unique=True))))
        for id in draw(st.lists(st.sampled_from(["1", "2", "a:b", "90"]), unique=True, min_size=1))
    ]
    objects = [LayerObject((chain.id,), draw(boxes())) for chain in chains]
    for names in draw(
        st.lists(st.lists(st.sampled_from(chains), unique=True, min_size=1, max_size=2), max_size=2)
    ):
        model = draw(st.booleans())
        objects.append(LayerObject(tuple(chain.id for chain in names), draw(boxes()), by_model=model))
    return LayerRecord(tuple(chains), tuple(objects))


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    (left, right), (top, bottom) = draw(edges), draw(edges)
    return Box(left + 1, top + 1, right, bottom)


@pytest.mark.parametrize("key", ["coco", "cvat", "label_studio"])
@given(layers=st.lists(st.none() | labelled_layers(), min_size=1, max_size=3))
def test_a_layer_that_is_written_for_another_tool_reads_back_as_the_same(
    key: str, layers: list[LayerRecord | None]
):
    records = [
        ImageRecord(f"i {n}", f"i {n}.jpg", (), width=make.SIDE, height=make.SIDE, layer=layer)
        for n, layer in enumerate(layers)
    ]
    with TemporaryDirectory() as folder:
        written = FORMATS.get(key).write(records, Path(folder))
        assert "labels" not in written.excluded and "boxless" not in written.excluded
        if not any(layers):
            return
        back = {source.names[0][1]: converted(source) for source in read(key, Path(folder)) if source.names}
    expected: dict[str, object] = {r.filename: (r.layer, {}) for r in records if r.layer is not None}
    assert back == expected


@given(
    box=st.tuples(*[st.floats(-700, 700) for _ in range(4)]),
    size=st.sampled_from([(0, 0), (1, 1), (500, 3), (500, 400)]),
)
def test_any_box_becomes_whole_pixels_within_its_picture_or_is_counted(
    box: tuple[float, float, float, float], size: tuple[int, int]
):
    changes = BoxChanges()
    layer = layer_of_boxes([SourceBox(*box, label="x")], size, (), changes)
    assert len(layer.objects) + changes.outside + changes.empty == 1
    for thing in layer.objects:
        assert thing.box is not None and thing.box.xmin >= 1 and thing.box.ymin >= 1
        assert size == (0, 0) or (thing.box.xmax <= size[0] and thing.box.ymax <= size[1])
        whole = (thing.box.xmin - 1, thing.box.ymin - 1, thing.box.xmax, thing.box.ymax)
        if not changes.clipped:
            assert max(abs(a - b) for a, b in zip(whole, box, strict=True)) <= 1


def test_our_own_formats_give_the_layers_of_corpora(tmp_path: Path):
    layer = LayerRecord((Chain("1", (), "dog"),), (LayerObject(("1",), Box(1, 1, 2, 2)),))
    record = ImageRecord("a", "a.jpg", (CaptionRecord("A dog ."),), width=9, height=9, layer=layer)
    for key in ("jsonl", "parquet"):
        (folder := tmp_path / key).mkdir()
        FORMATS.get(key).write([record, ImageRecord("b", "b.jpg", ())], folder)
        (source,) = read(key, folder)
        assert source.layer == layer and source.names[1] == (FILE, "a.jpg")
