"""What a system has seen of the images that a figure is over, in commands, pages and the API."""

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError
from hypothesis import given
from hypothesis import strategies as st

from annotation.datasets.importing import import_records
from annotation.models import Image
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.comparison.provenance import NONE, NOT_KNOWN, Provenance, identities, overlap
from evaluation.models import SeenImages
from evaluation.services.systems.registry import register_stored_system, system_row
from tests.evaluation.database.conftest import said
from tests.evaluation.systems.conftest import IMAGES, SPLITS
from tests.models_core.systems.worlds import examples, vectors

pytestmark = pytest.mark.django_db

NAMES = st.sampled_from([f"{letter}.jpg" for letter in "abcdef"] + ["COCO_val2014_000000000009.jpg"])
PICTURES = st.sampled_from(["", *(f"{digit * 64}.png" for digit in "123456")])
IMAGES_OF = st.lists(st.tuples(NAMES, PICTURES), max_size=8)


def same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] == other[0] or bool(one[1]) and one[1] == other[1]


@given(asked=IMAGES_OF, learned=IMAGES_OF, validated=IMAGES_OF)
def test_the_counts_are_those_of_comparing_every_image_with_every_other(asked, learned, validated):
    found = overlap(identities(asked), identities(learned).packed(), identities(validated).packed())
    by_hand = [[any(same(one, other) for other in side) for one in asked] for side in (learned, validated)]
    assert (found.learned, found.validated) == (sum(by_hand[0]), sum(by_hand[1]))
    seen = sum(any(both) for both in zip(*by_hand, strict=True))
    assert found.answer == (f"{seen} of {len(asked)}" if seen else NONE)
    assert found.by_name <= seen


@given(
    learned=st.none() | st.integers(0, 3),
    unknown=st.lists(st.text(min_size=1), max_size=2),
    declared=st.text(),
)
def test_what_is_not_known_is_never_none(learned, unknown, declared):
    found = Provenance(3, learned, learned, learned or 0, 0, tuple(unknown), (declared,))
    if learned is None or unknown:
        assert found.answer != NONE
        assert "Not known" in found.sentence
    assert (found.answer == NONE) == (learned == 0 and not unknown)


def test_an_image_of_coco_is_the_same_in_both_of_its_names():
    named = [
        identities([(name, "")]).names[0] for name in ("COCO_val2014_000000000009.jpg", "000000000009.png")
    ]
    assert named[0] == named[1]


@pytest.fixture
def system(corpus: str, features: Path, own: Path) -> str:
    given_features(corpus, features, "--trained-on", "nothing")
    said("train_system", "mine", "--recipe", own, "--corpus", corpus, "--features", "vectors")
    return "mine"


def given_features(corpus: str, features: Path, *more: str, name: str = "vectors") -> None:
    ids = features.with_name(f"{features.stem}.ids.txt")
    said("import_features", corpus, features, "--name", name, "--ids", ids, *more)


def ranked(split: str, corpus: str = "world", *more: object) -> str:
    return said("rank", "mine", "--split", split, "--name", split, *more)


def scored(run: str, corpus: str = "world") -> dict:
    said("freeze_qrels", run, "--corpus", corpus, "--protocol", "one caption", "--split", run)
    return json.loads(said("score_run", f"{run}-annotation", "--qrels", run, "--json"))


def test_a_figure_of_training_images_says_so(system):
    assert "Learned from 36 of these 36 images, and chose settings on 0 of them." in ranked("train")
    found = scored("train")
    assert {one["measure"]: one["value"] for one in found["measures"]}["R@10"] == 1
    assert found["provenance"]["train-annotation"]["answer"] == "36 of 36"
    sentence = found["provenance"]["train-annotation"]["sentence"]
    assert found["basis"]["provenance"] == {"train-annotation": sentence}
    for command in (("score_run",), ("compare_systems", "train-annotation")):
        shown = said(command[0], "train-annotation", "--qrels", "train") if len(command) == 1 else ""
        assert len(command) > 1 or sentence in shown


def test_images_for_the_choice_of_settings_count_and_others_do_not(system):
    ranked("val")
    assert scored("val")["provenance"]["val-annotation"]["answer"] == "12 of 12"
    ranked("test")
    found = scored("test")["provenance"]["test-annotation"]
    assert (found["answer"], found["learned"], found["validated"]) == (NONE, 0, 0)
    assert found["declared"] == ["Declared, not checked: the feature set 'vectors:1' was trained on nothing."]
