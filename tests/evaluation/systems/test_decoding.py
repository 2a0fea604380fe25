"""Segments of captions as a layer: what they find of people's mentions, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.datasets.importing import import_records
from annotation.models import Layer
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from annotation.selectors.records import stream_records
from evaluation.services.alignments import decoding, localizing
from evaluation.services.features.importing import FeatureImport, import_features
from tests.evaluation.database.conftest import said

pytest.importorskip("torch", exc_type=ImportError)
THINGS = ("dog", "man", "boat", "tree", "horse", "ball")
#: Boxes of the whole picture and of four parts; things lie in two of the parts.
BOXES = ((1, 1, 100, 60), (1, 1, 40, 30), (61, 1, 100, 30), (1, 31, 40, 60), (50, 40, 90, 60))
IMAGES = 90
SPLITS = ("train",) * 60 + ("val",) * 15 + ("test",) * 15
SMALL = """
extends = "BRNN"
[text]
least_count = 2
[settings]
size = 24
word_size = 12
rates = [0.002]
epochs = 12
batch = 30
dropout = 0.1
"""


def shown(number: int, things: tuple[int, int], parts: tuple[int, int], split: str) -> ImageRecord:
    """An image with two things in two parts, and two captions that name both with a box each."""
    one, other = (THINGS[thing] for thing in things)
    texts = (f"A {one} beside a {other} .", f"The small {other} , near the {one}")
    spans = (((0, 2), (3, 5)), ((4, 6), (0, 3)))
    words = [text.split() for text in texts]
    mentions = [
        [
            Mention(caption, start, end, tuple(words[caption][start:end]), ("other",))
            for caption, (start, end) in enumerate(both[which] for both in spans)
        ]
        for which in range(2)
    ]
    chains = tuple(Chain(str(which + 1), tuple(own)) for which, own in enumerate(mentions))
    objects = tuple(LayerObject((str(which + 1),), Box(*BOXES[part])) for which, part in enumerate(parts))
    captions = tuple(CaptionRecord(text) for text in texts)
    return ImageRecord(
        f"{number}", f"{number}.png", captions, split, 100, 60, layer=LayerRecord(chains, objects)
    )


@pytest.fixture
def scenes(db: None, data_dir: Path, tmp_path: Path) -> str:
    dice = np.random.default_rng(5)
    looks = dice.standard_normal((len(THINGS), 10))
    records, rows, ids, boxes = [], [], [], []
    for number, split in enumerate(SPLITS):
        things = tuple(dice.choice(len(THINGS), 2, replace=False).tolist())
        parts = tuple((1 + dice.choice(4, 2, replace=False)).tolist())
        records.append(shown(number, things, parts, split))
        vectors = 0.3 * dice.standard_normal((len(BOXES), 10))
        vectors[0] += looks[list(things)].mean(axis=0)
        for thing, part in zip(things, parts, strict=True):
            vectors[part] += looks[thing]
        rows += list(vectors)
        ids += [f"{number}.png"] * len(BOXES)
        boxes += list(BOXES)
    import_records(name="scenes", records=records, format="jsonl", source="memory")
    arrays: dict[str, Any] = {"vectors": np.array(rows, np.float32), "ids": np.array(ids), "boxes": boxes}
    np.savez(tmp_path / "parts.npz", **arrays)
    import_features(FeatureImport(corpus="scenes", name="parts", path=tmp_path / "parts.npz", kind="region"))
    (tmp_path / "small.toml").write_text(SMALL)
    said(
        "train_system",
        "aligned",
        "--recipe",
        tmp_path / "small.toml",
        "--corpus",
        "scenes",
        "--regions",
        "parts",
    )
    return "scenes"


@pytest.mark.django_db
def test_segments_are_a_layer_that_finds_more_than_chance_and_the_largest_region(scenes):
    gold = Layer.objects.get().name
    ask = ("decode_alignments", "aligned", "--layer", "machine", "--gold", gold)
    found = json.loads(said(*ask, "--choose-beta-on", "val", "--json"))
    assert (found["images"], found["layer"], found["localized"]["mentions"]) == (15, "machine", 60)
    tried = dict(found["tried"])
    assert tried.keys() == set(decoding.BETAS) and tried[found["beta"]] == max(tried.values())
    local = found["localized"]
    assert local["low"] <= local["share"] <= local["high"]
    assert local["share"] > max(local["random"], local["largest"]) + 0.2 and local["possible"] == 1
    assert local["random"] == pytest.approx(1 / len(BOXES))

    layer = Layer.objects.get(name="machine")
    assert (layer.source, layer.published) == ("alignment", True)
    assert layer.settings["regions"] == "parts:1" and layer.settings["beta"] == found["beta"]
    own = [r for r in stream_records(corpus=layer.corpus, layer=layer) if r.layer is not None]
    assert {record.split for record in own} == {"test"} and len(own) == 15
    for record in own:
        assert record.layer is not None
        assert {o.box for o in record.layer.objects} <= {Box(*box) for box in BOXES}
        taken = [(m.caption, w) for m in record.layer.mentions for w in range(m.start, m.end)]
        assert len(taken) == len(set(taken)), "no word is in two segments"
    assert said(*ask, "--beta", 1, "--replace").startswith("layer 'machine' of corpus 'scenes' written: 15")
    assert said(*ask, "--beta", 1).startswith("layer 'machine' of corpus 'scenes' written: 15"), "made alike"
    stats = said("dataset_stats", "scenes", "--layer", "machine")
    assert "15" in stats

    # One region for each caption, where neighbours count for everything.
    said("decode_alignments", "aligned", "--layer", "one", "--beta", 1e9)
    one = Layer.objects.get(name="one")
    for record in stream_records(corpus=one.corpus, layer=one):
        if record.layer is not None:
            assert len(record.layer.mentions) == 2

    bare = json.loads(said("decode_alignments", "aligned", "--layer", "bare", "--gold", "one", "--json"))
    assert bare["localized"]["mentions"] == 30, "what a machine boxed is compared with as well"
    elsewhere = ("--split", "train", "--gold", "one", "--replace", "--json")
    assert (
        json.loads(said("decode_alignments", "aligned", "--layer", "bare", *elsewhere))["localized"] is None
    )

    for options, says in (
        (("--layer", "machine", "--beta", 2), "has a layer 'machine' already"),
        (
            ("--layer", gold, "--replace"),
            f"layer '{gold}' of corpus 'scenes' was not written by an alignment",
        ),
        (("--layer", "a b"), "layer name 'a b': expected letters"),
        (("--layer", "x", "--beta", -1), "beta is -1.0; expected a number of at least 0"),
        (("--layer", "x", "--choose-beta-on", "val"), "beta is chosen by people's boxes; name their layer"),
        (("--layer", "x", "--gold", "nobody"), "nobody"),
        (("--layer", "x", "--gold", "one", "--choose-beta-on", "val"), "has no boxes of images of val"),
        (("--layer", "x", "--split", "tset"), "unknown split 'tset' of corpus 'scenes'"),
        (("--layer", "x", "--regions", "no"), "unknown feature set 'no'"),
    ):
        with pytest.raises(CommandError, match=says):
            said("decode_alignments", "aligned", *options)
    assert set(Layer.objects.values_list("name", flat=True)) == {gold, "machine", "one", "bare"}


def test_a_mention_is_found_by_the_chain_that_most_of_its_words_belong_to():
    def layer(*parts: tuple[int, int, Box]) -> LayerRecord:
        chains = tuple(
            Chain(str(n), (Mention(0, start, end, ("w",) * (end - start), ("other",)),))
            for n, (start, end, _) in enumerate(parts, 1)
        )
        return LayerRecord(chains, tuple(LayerObject((str(n),), p[2]) for n, p in enumerate(parts, 1)))

    left, right = Box(1, 1, 10, 10), Box(11, 1, 20, 10)
    gold = layer((1, 4, left), (5, 6, right))
    assert localizing.found_mentions(layer((0, 2, right), (2, 5, left)), gold) == [True, False]
    assert localizing.found_mentions(layer((0, 3, right), (3, 6, left)), gold) == [False, False]
    assert localizing.found_mentions(layer((1, 2, left), (5, 6, right)), gold) == [True, True]
    assert localizing.found_mentions(LayerRecord(), gold) == [False, False]
