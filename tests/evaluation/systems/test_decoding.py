"""Segments of captions as a layer: how many of people's mentions they find, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation.models import Layer
from annotation.protocol.terms import (
    Box,
    Chain,
    LayerObject,
    LayerRecord,
    Mention,
)
from annotation.selectors.records import stream_records
from evaluation.services.alignments import decoding, localizing
from evaluation.services.features.store import FeatureSet, feature_set
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.scenes import BOXES, aligned_scenes

pytest.importorskip("torch", exc_type=ImportError)


@pytest.fixture
def aligned(db: None, data_dir: Path, tmp_path: Path) -> str:
    return aligned_scenes(tmp_path)


@pytest.mark.django_db
def test_segments_are_a_layer_that_finds_more_than_chance_and_the_largest_region(aligned):
    gold = Layer.objects.get().name
    ask = ("decode_alignments", "aligned", "--layer", "decoded", "--gold", gold, "--split", "test")
    payload = json.loads(output_of(*ask, "--choose-beta-on", "val", "--json"))
    assert (payload["images"], payload["layer"], payload["localized"]["mentions"]) == (15, "decoded", 60)
    tried = dict(payload["tried"])
    assert tried.keys() == set(decoding.BETAS) and tried[payload["beta"]] == max(tried.values())
    local = payload["localized"]
    assert local["low"] <= local["share"] <= local["high"]
    assert local["share"] > max(local["random"], local["largest"]) + 0.2 and local["possible"] == 1
    assert local["random"] == pytest.approx(1 / len(BOXES))

    layer = Layer.objects.get(name="decoded")
    assert (layer.source, layer.published) == ("alignment", True)
    assert layer.settings["regions"] == "parts:1" and layer.settings["beta"] == payload["beta"]
    values = [r for r in stream_records(corpus=layer.corpus, layer=layer) if r.layer is not None]
    assert {record.split for record in values} == {"test"} and len(values) == 15
    for record in values:
        assert record.layer is not None
        assert {o.box for o in record.layer.objects} <= {Box(*box) for box in BOXES}
        taken = [(m.caption, w) for m in record.layer.mentions for w in range(m.start, m.end)]
        assert len(taken) == len(set(taken)), "no word is in two segments"
    assert output_of(*ask, "--beta", 1, "--replace").startswith(
        "layer 'decoded' of corpus 'scenes' written: 15"
    )
    assert output_of(*ask, "--beta", 1).startswith("layer 'decoded' of corpus 'scenes' written: 15"), (
        "made alike"
    )
    assert payload["chosen_on"] == 0
    there = output_of(*ask, "--choose-beta-on", "test", "--replace")
    assert there.endswith("beta was chosen on 15 of these images, so what is found there is not told\n")
    output_of(*ask, "--beta", 1, "--replace")
    stats = output_of("dataset_stats", "scenes", "--layer", "decoded")
    assert "15" in stats

    # One region for each caption, if neighbours have all the weight.
    decode = ("decode_alignments", "aligned", "--split", "test", "--layer")
    output_of(*decode, "one", "--beta", 1e5)
    item = Layer.objects.get(name="one")
    for record in stream_records(corpus=item.corpus, layer=item):
        if record.layer is not None:
            assert len(record.layer.mentions) == 2

    bare = json.loads(output_of(*decode, "bare", "--gold", "one", "--json"))
    assert bare["localized"]["mentions"] == 30, "what a machine boxed is compared with as well"
    elsewhere = ("--split", "train", "--gold", "one", "--replace", "--json")
    assert json.loads(output_of(*decode, "bare", *elsewhere))["localized"] is None

    for options, says in (
        (("--layer", "decoded", "--beta", 2), "has a layer 'decoded' already"),
        (
            ("--layer", gold, "--replace"),
            f"layer '{gold}' of corpus 'scenes' was not written by an alignment",
        ),
        (("--layer", "a b"), "--layer: This is no valid name"),
        (("--layer", "x", "--beta", -1), "--beta: Expected 0.0 or more"),
        (("--layer", "x", "--choose-beta-on", "val"), "--gold: This is required"),
        (("--layer", "x", "--gold", "nobody"), "nobody"),
        (("--layer", "x", "--gold", "one", "--choose-beta-on", "val"), "has no boxes of images of val"),
        (("--layer", "x", "--split", "tset"), "unknown split 'tset' of corpus 'scenes'"),
        (("--layer", "x", "--regions", "no"), "unknown feature set 'no'"),
    ):
        with pytest.raises(CommandError, match=says):
            output_of("decode_alignments", "aligned", "--split", "test", *options)
    assert set(Layer.objects.values_list("name", flat=True)) == {gold, "decoded", "one", "bare"}

    # Boxes drawn by people would reveal the answer. Without a layer for comparison they may be decoded.
    def drawn(corpus: str, name: str) -> FeatureSet:
        payload = feature_set(corpus, name)
        return replace(payload, origin={**payload.origin, "regions": "gold"})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "feature_set", drawn)
        with pytest.raises(CommandError, match="the regions 'parts:1' are boxes that people drew, which"):
            output_of(*decode, "x", "--gold", gold)
        output_of(*decode, "x")


def test_a_mention_is_found_by_the_chain_that_most_of_its_words_belong_to():
    def layer(*parts: tuple[int, int, Box]) -> LayerRecord:
        chains = tuple(
            Chain(str(n), (Mention(0, start, end, ("w",) * (end - start), ("other",)),))
            for n, (start, end, _) in enumerate(parts, 1)
        )
        return LayerRecord(chains, tuple(LayerObject((str(n),), p[2]) for n, p in enumerate(parts, 1)))

    left, right = Box(1, 1, 10, 10), Box(11, 1, 20, 10)
    gold = layer((1, 4, left), (5, 6, right))
    assert localizing.mentions_localized(layer((0, 2, right), (2, 5, left)), gold) == [True, False]
    assert localizing.mentions_localized(layer((0, 3, right), (3, 6, left)), gold) == [False, False]
    assert localizing.mentions_localized(layer((1, 2, left), (5, 6, right)), gold) == [True, True]
    assert localizing.mentions_localized(LayerRecord(), gold) == [False, False]
