"""Alignments of regions and dependency edges as systems: they need parses, and report missing ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotation.models import Image
from evaluation.models import System
from models_core import storage
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES
from tests.evaluation.systems.scenes import write_parses
from tests.evaluation.systems.test_alignment_systems import NAMES, stored
from tests.models_core.systems.worlds import vectors
from tests.web import world

pytest.importorskip("torch", exc_type=ImportError)
pytestmark = pytest.mark.django_db
SMALL = """
extends = "DepTree"
[text]
least_count = 2
[settings]
size = 24
word_size = 12
rates = [0.005]
epochs = 6
batch = 30
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "edges.toml").write_text(SMALL)
    return tmp_path / "edges.toml"


@pytest.fixture
def whole(corpus: str, tmp_path: Path) -> str:
    """Add vectors of whole images."""
    return stored(tmp_path, corpus, "cnn", vectors(IMAGES), NAMES, "image")


def test_it_learns_from_parses_and_ranks_by_them(corpus, whole, recipe, tmp_path):
    output_of("import_parses", corpus, write_parses(corpus, tmp_path / "p.conllu"))
    ask = ("train_system", "edges", "--recipe", recipe, "--corpus", corpus, "--features", "cnn", "--json")
    assert json.loads(output_of(*ask))["training"] == 36
    assert json.loads(output_of(*ask))["unchanged"]
    output_of("rank", "edges", "--split", "test")
    output_of("freeze_qrels", "pool", "--corpus", corpus, "--protocol", "one caption", "--split", "test")
    for direction in ("annotation", "search"):
        scored = json.loads(output_of("score_run", f"edges-{direction}", "--qrels", "pool", "--json"))
        values = {measure["measure"]: measure["value"] for measure in scored["measures"]}
        assert values["R@5"] >= 0.7, direction  # by chance 5 of 12
    # Other settings are refused too.
    with pytest.raises(CommandError, match="already exists with a different recipe or other images"):
        output_of(*ask, "--changes", "settings.epochs=2")
    changed = json.loads(
        output_of(*ask[:1], "changed", *ask[2:], "--changes", "settings.epochs=2", "text.captions=1")
    )
    assert changed["recipe"] == "edges (changed)"
    # Other parses are another training.
    other_parses = write_parses(corpus, tmp_path / "other.conllu", without=NAMES[0])
    output_of("import_parses", corpus, other_parses, "--replace")
    with pytest.raises(CommandError, match="already exists with a different recipe or other images"):
        output_of(*ask)


def test_an_image_without_a_parse_is_left_out_and_counted(corpus, whole, recipe, tmp_path):
    output_of("import_parses", corpus, write_parses(corpus, tmp_path / "p.conllu", without=NAMES[0]))
    train = ("train_system", "edges", "--recipe", recipe, "--corpus", corpus, "--features", "cnn", "--json")
    payload = json.loads(output_of(*train))
    assert (payload["training"], payload["excluded"]) == (35, 1)


def test_what_lacks_and_what_it_cannot_do_is_said(corpus, whole, recipe, tmp_path):
    train = ("train_system", "edges", "--recipe", recipe, "--corpus", corpus, "--features", "cnn")
    with pytest.raises(
        CommandError, match=f"--recipe: Recipe edges learns from parses, and corpus {corpus} has none."
    ):
        output_of(*train)
    assert not System.objects.exists()
    output_of("import_parses", corpus, write_parses(corpus, tmp_path / "p.conllu"))
    output_of(*train)
    with pytest.raises(CommandError, match="does not align words with regions; name one of recipe BRNN"):
        output_of("decode_alignments", "edges", "--layer", "decoded")
    with pytest.raises(CommandError, match="does not write captions; choose one that does"):
        output_of("generate_captions", "edges", "--split", "test")
    with pytest.raises(CommandError, match="reads captions as edges, not as lemmas"):
        output_of("cross_validate", corpus, recipe, "--features", "cnn")
    image = Image.objects.get(filename=NAMES[0])
    assert image.captions.count() == 5
    manifest = storage.read_manifest(tmp_path / "data" / "systems" / "edges")
    assert len(manifest["metadata"]["parses"]) == 64


def test_the_page_says_that_it_needs_parses(corpus, whole):
    ada = world.signed_in("ada", "researcher")
    page = reverse("evaluation:train")
    assert "lacks parses of captions" in ada.get(page).content.decode()
    requested = {"name": "edges", "recipe": "DepTree", "corpus": corpus, "features": whole}
    response = ada.post(page, {**requested, "train": "train", "held_out": "val"})
    assert response.status_code == 400
    assert "Recipe DepTree learns from parses, and corpus world has none." in response.content.decode()
