"""Training data of systems that localize phrases, and the features of their regions and phrases."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.models import Layer
from annotation.selectors.records import stream_records
from evaluation.models import LocalizationSet
from evaluation.selectors import rankings_of, run_named
from evaluation.services.features.store import feature_set
from evaluation.services.localizations.sets import detections_of, localized_mentions
from evaluation.services.systems.training import system_named
from models_core.estimators.region_phrase import RegionPhraseCCA
from models_core.features.text.phrases import phrase_text
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.localizing import (
    give_words,
    layer_name,
    localized,
    scored,
    some_regions,
    train,
)
from tests.evaluation.systems.scenes import BOXES

pytestmark = pytest.mark.django_db


def test_so_many_pairs_are_learned_from_as_resampling_leaves(grounded):
    """As Table 4 counts them: all phrases of the training images, and at most N exemplars of each."""
    records = stream_records(corpus=Layer.objects.get().corpus, layer=Layer.objects.get(), split="train")
    said_of: Counter[str] = Counter()
    for record in records:
        assert record.layer is not None
        said_of.update(phrase_text(mention.text) for mention in record.layer.mentions)
    assert said_of.total() == 60 * 4
    for exemplars, pairs in ((0, 240), (1, len(said_of)), (10, sum(min(10, n) for n in said_of.values()))):
        train(f"n{exemplars}", "--changes", f"settings.exemplars={exemplars}")
        model = system_named(f"n{exemplars}").model
        assert isinstance(model, RegionPhraseCCA) and model.pairs_ == pairs


def test_a_phrase_without_a_word_that_has_a_vector_is_counted_and_finds_nothing(scenes, tmp_path):
    give_words(tmp_path, without=("boat", "near"))
    train("few")
    created = localized("few")
    rows = list(localized_mentions(LocalizationSet.objects.get()))
    unknown = [row for row in rows if phrase_text(row.phrase) in ("boat", "near")]
    assert created["unknown"] == len(unknown) > 0
    for row in rows:
        assert len(row.regions) == (0 if any(row is another for another in unknown) else len(BOXES))
    detected = {row.phrase for row in detections_of(LocalizationSet.objects.get())}
    assert created["phrases"] == len(detected) > 0 and not detected & {"boat", "near"}
    report = scored("few")
    assert (report["mentions"], report["predicted"]) == (60, 60 - len(unknown))
    precisions = {row["phrase"]: (row["R@100"], row["AP"]) for row in report["frequent"]}
    assert precisions["near"] == precisions["boat"] == (0, 0), "what is not predicted is missed"
    reported = f"{len(unknown)} mentions have no word that the system knows"
    assert reported in output_of("localize", "few", "--split", "test")


def test_regions_have_length_1_where_images_have(grounded, tmp_path):
    parts = feature_set("scenes", "parts")
    vectors = np.array(parts.vectors())
    even = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.savez(tmp_path / "even.npz", vectors=even, ids=np.array(parts.ids()), boxes=parts.boxes())
    output_of("import_features", "scenes", tmp_path / "even.npz", "--name", "even", "--kind", "region")
    wholes = ("--corpus", "scenes", "--features", "whole", "--words", "words", "--layer", layer_name())
    settings = ("--changes", "text.vectors=mean", "image.normalised=true", "settings.features=40")
    result = {}
    for regions in ("parts", "even"):
        output_of(
            "train_system", regions, "--recipe", "SAE-phrases", *wholes, *settings, "--regions", regions
        )
        output_of("rank", regions, "--split", "test", "--protocol", "any of five")
        result[regions] = list(rankings_of(run_named(f"{regions}-search")))
    for (query, items, scores), (another, theirs, their_scores) in zip(*result.values(), strict=True):
        assert query == another
        index = np.argsort(items)
        np.testing.assert_allclose(
            scores[index], their_scores[np.argsort(theirs)], atol=1e-3, err_msg=str(query)
        )


def test_mentions_without_a_region_are_counted_where_a_system_learns(scenes, tmp_path):
    """Without the last box mentions of it belong to no region."""
    give_words(tmp_path)
    some_regions(tmp_path, "fewer", lambda _, box: box < len(BOXES) - 1)
    layer = Layer.objects.get()
    lacking = 0
    for record in stream_records(corpus=layer.corpus, layer=layer, split="train"):
        assert record.layer is not None
        for item in record.layer.objects:
            if item.box is not None and (item.box.xmin, item.box.ymin) == BOXES[-1][:2]:
                lacking += 2
    assert lacking > 0
    ask = ("train_system", "some", "--recipe", "Region-phrase-CCA", "--corpus", scenes)
    provided = ("--regions", "fewer", "--words", "words", "--layer", layer.name)
    output = output_of(*ask, *provided)
    assert f"{240 - lacking} mentions with boxes are those of a region; {lacking} are of none, and" in output
    again = json.loads(output_of(*ask, *provided, "--json"))
    assert (again["unchanged"], again["mentions"], again["mentions_excluded"]) == (
        True,
        240 - lacking,
        lacking,
    )
    # Images without regions: their mentions have none either.
    some_regions(tmp_path, "half", lambda image, _: image % 2 == 0)
    wholes = ("--features", "whole", "--words", "words", "--changes", "text.vectors=mean")
    halves = ("train_system", "halves", "--recipe", "Weighted-distance", "--corpus", scenes, *wholes)
    output = output_of(*halves, "--regions", "half", "--layer", layer.name)
    assert "120 mentions with boxes are those of a region; 120 are of none, and left out" in output
    requested = ("train_system", "weighted", "--recipe", "Weighted-distance", "--corpus", scenes, *wholes)
    assert f"; {lacking} are of none, and left out" in output_of(*requested, *provided[:2], *provided[4:])


def described(corpus: str, name: str, **origin: Any) -> None:
    """Set the origin of a feature set."""
    file = feature_set(corpus, name).folder / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["origin"] |= origin
    file.write_text(json.dumps(manifest))


def test_regions_that_are_described_otherwise_than_those_learned_from_are_refused(scenes, tmp_path):
    """Numbers of another network are as many, and mean something else."""
    give_words(tmp_path)
    network: dict[str, Any] = {
        "extractor": "cnn",
        "sha256": "a" * 64,
        "settings": {"side": 224, "output": "pool5"},
    }
    some_regions(tmp_path, "own", lambda *_: True)
    described(scenes, "own", **network)
    train("learned", "--regions", "own")
    some_regions(tmp_path, "other", lambda *_: True)
    assert localized("learned", "--regions", "other", "--name", "unknown")["mentions"] == 60
    others: tuple[tuple[dict[str, Any], str], ...] = (
        ({**network, "extractor": "layout"}, "extractor layout, not cnn"),
        ({**network, "settings": {"side": 256, "output": "pool5"}}, "side 256, not 224"),
        ({**network, "sha256": "b" * 64}, "another network or other codebooks"),
    )
    for origin, differs in others:
        described(scenes, "other", **origin)
        with pytest.raises(CommandError) as error:
            localized("learned", "--regions", "other", "--name", "refused")
        assert str(error.value) == (
            "the regions of feature set 'other:1' are described otherwise than those that system 'learned' "
            f"learned from, 'own:1' ({differs}); describe them alike"
        )
    # The crops of whole pictures do not matter for regions.
    crops = {**network["settings"], "crops": 10}
    described(scenes, "other", **{**network, "settings": crops, "sha256": "c" * 64}, limit=5)
    described(scenes, "own", **{**network, "settings": {**crops, "crops": 1}})
    assert localized("learned", "--regions", "other", "--name", "alike")["mentions"] == 60
