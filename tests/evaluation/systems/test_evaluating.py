"""An evaluation in one step: what it trains, ranks and compares is what the single operations make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.common.operations import Invalid, OperationContext
from annotation.datasets.importing import import_records
from annotation.protocol.terms import CaptionRecord, ImageRecord
from evaluation.models import Report, Run, System
from evaluation.selectors import names_of, run_named
from evaluation.services import evaluating
from evaluation.services.evaluating import EvaluationRequest
from tests.evaluation.database.conftest import output_of
from tests.evaluation.systems.conftest import IMAGES, SPLITS
from tests.models_core.systems.worlds import examples

pytestmark = pytest.mark.django_db

MEASURES = ("--measures", "R@1", "R@10", "--rounds", 50, "--resamples", 50)


@pytest.fixture
def mine(corpus: str, tmp_path: Path) -> Path:
    """Embeddings of an outside model: a caption is near its image."""
    names = names_of(corpus)
    rng = np.random.default_rng(2)
    images = {pk: rng.normal(size=8) for pk in names.image_name}
    captions = [images[owner] + rng.normal(size=8) / 2 for owner in names.owner.values()]
    file = tmp_path / "mine.npz"
    np.savez(
        file,
        images=np.stack(list(images.values())).astype(np.float32),
        captions=np.stack(captions).astype(np.float32),
        image_ids=np.array(list(names.image_name.values())),
        caption_ids=np.array(list(names.caption_name.values())),
    )
    return file


def test_one_command_makes_what_the_single_ones_make(
    corpus: str, features: Path, mine: Path, own_recipe: Path
) -> None:
    done = json.loads(
        output_of(
            *("evaluate", corpus, "--recipes", f"nCCA,{own_recipe}", "--features", features),
            *("--embeddings", mine, *MEASURES, "--json"),
        )
    )
    systems = {system["system"]: system for system in done["systems"]}
    assert list(systems) == ["world-nCCA", "world-own", "mine"]
    assert all(len(system["runs"]) == 2 for system in systems.values())
    assert set(Run.objects.values_list("split", flat=True)) == {"test"}
    # The same by the single operations.
    output_of("train_system", "alone", "--recipe", "nCCA", "--corpus", corpus, "--features", features)
    output_of("rank", "alone", "--split", "test")
    for direction in ("annotation", "search"):
        single, joint = run_named(f"alone-{direction}"), run_named(f"world-nCCA-{direction}")
        assert (single.digest, single.protocol) == (joint.digest, joint.protocol)
    runs = [f"{system}-search" for system in systems]
    compared = json.loads(output_of("compare_runs", *runs, *MEASURES, "--json"))
    assert done["comparisons"][1] == compared
    assert compared["basis"]["pool"] == "12 images of corpus world, split test"
    assert len(compared["tests"]) == 4 and compared["systems"][2]["intervals"]["R@1"] is not None
    # Again nothing is made, and another test split has runs of its own.
    before = list(Run.objects.order_by("pk").values_list("pk", flat=True))
    again = output_of(
        *("evaluate", corpus, "--recipes", f"nCCA,{own_recipe}", "--features", features),
        *("--systems", "mine", *MEASURES),
    )
    assert "system 'mine' (embeddings), already existed" in again and "world-nCCA-annotation" in again
    assert list(Run.objects.order_by("pk").values_list("pk", flat=True)) == before
    output_of("evaluate", corpus, "--systems", "mine", "--test", "val", *MEASURES)
    assert Run.objects.get(name="mine-val-search").split == "val"


def test_an_interrupted_evaluation_continues_after_its_last_step(
    corpus: str, features: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = EvaluationRequest(
        corpus=corpus,
        recipes=("nCCA",),
        features=str(features),
        embeddings=(mine,),
        rounds=50,
        resamples=20,
        report="first",
    )
    shares: list[float] = []

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    context = OperationContext(by_path=True, listener=lambda phase, share: shares.append(share))
    with monkeypatch.context() as stopped:
        stopped.setattr(evaluating, "compare_under_qrels", killed)
        with pytest.raises(KeyboardInterrupt):
            evaluating.run_evaluation(request, context)
    assert System.objects.count() == 2 and Run.objects.count() == 4
    monkeypatch.setattr("models_core.systems.training.fit", killed)
    done = evaluating.run_evaluation(request, context)
    assert [system.unchanged for system in done.systems] == [True, True]
    assert Report.objects.get(name="first").qrels is None
    assert shares[-1] == 1 and max(shares) <= 1


def test_uploaded_embeddings_are_a_system_before_the_job_begins(corpus: str, mine: Path) -> None:
    request = EvaluationRequest(corpus=corpus, embeddings=(mine,), trained_on="nothing")
    checked = evaluating.check_evaluation(request, OperationContext())
    assert (checked.embeddings, checked.systems, checked.trained_on) == ((), ("mine",), "")
    assert System.objects.get(name="mine").trained_on == "nothing"


def test_what_is_missing_or_unused_is_named_before_anything_is_trained(
    corpus: str, features: Path, tmp_path: Path
) -> None:
    def errors(**fields: Any) -> dict[str, str]:
        request = EvaluationRequest(corpus=corpus, **fields)
        with pytest.raises(Invalid) as raised:
            evaluating.check_evaluation(request, OperationContext(by_path=True))
        return {error.field: error.code for error in raised.value.errors}

    assert errors(recipes=("nCCA",)) == {"features": "recipe_needs"}
    assert errors(recipes=("NN5-F1",), words="glove") == {"words": "recipe_ignores"}
    assert errors(recipes=("Text-feature",), features=str(features)) == {"weak": "recipe_needs"}
    with pytest.raises(CommandError, match="--recipes"):
        output_of("evaluate", corpus)
    with pytest.raises(CommandError, match="unknown measure 'Q@1'"):
        output_of("evaluate", corpus, "--recipes", "nCCA", "--features", features, "--measures", "Q@1")
    with pytest.raises(CommandError, match="--features: .*together with recipes"):
        output_of("evaluate", corpus, "--systems", "mine", "--features", features)
    assert not System.objects.exists()


def test_systems_stand_for_their_runs_of_the_images(corpus: str, mine: Path) -> None:
    output_of("add_system", "mine", mine, "--corpus", corpus)
    output_of("add_system", "other", mine, "--corpus", corpus, "--inner-products")
    with pytest.raises(CommandError, match="system 'mine' has no run .*rank with it first"):
        output_of("compare_runs", "mine", "other")
    for name in ("mine", "other"):
        output_of("rank", name, "--split", "test")
        output_of("rank", name, "--split", "val", "--name", f"{name}-val")
    options = ("--split", "test", *MEASURES, "--json")
    for direction in ("annotation", "search"):
        by_run = output_of("compare_runs", f"mine-{direction}", f"other-{direction}", *options)
        assert output_of("compare_runs", "mine", "other", "--direction", direction, *options) == by_run
    mixed = json.loads(output_of("compare_runs", "mine-search", "other", *options))
    assert [system["run"] for system in mixed["systems"]] == ["mine-search", "other-search"]
    newest = json.loads(output_of("compare_runs", "mine", "other", *MEASURES, "--json"))
    assert newest["baseline"] == "mine-val-annotation"
    with pytest.raises(CommandError, match="run or system"):
        output_of("compare_runs", "nobody")


def test_one_caption_an_image_works_from_import_to_table(db: None, data_dir: Path, features: Path) -> None:
    records = [
        ImageRecord(
            id=example.name.removesuffix(".png"),
            filename=example.name,
            captions=(CaptionRecord(example.captions[0]),),
            split=split,
        )
        for example, split in zip(examples(IMAGES), SPLITS, strict=True)
    ]
    import_records(name="single", records=records, format="jsonl", source="memory")
    text = output_of("evaluate", "single", "--recipes", "nCCA", "--features", features, *MEASURES)
    assert "search: 12 queries of original pairs" in text
    assert "Pool: 12 captions of corpus single, split test; protocol: original pairs, one caption." in text


def test_ranking_ends_with_figures_of_its_queries_and_pool(corpus: str, mine: Path) -> None:
    output_of("add_system", "mine", mine, "--corpus", corpus)
    text = output_of("rank", "mine", "--split", "test")
    assert "12 queries, 12 captions of corpus world, split test; original pairs, one caption" in text
    ranked = json.loads(output_of("rank", "mine", "--split", "test", "--json"))["runs"]
    scored = json.loads(output_of("score_run", "mine-search", "--json"))
    assert ranked[1]["figures"] == {m["measure"]: m["value"] for m in scored["measures"]}
    assert ranked[1]["basis"] == scored["basis"]
    values = ", ".join(f"{name} " for name in ("R@1", "R@5", "R@10", "median rank"))
    assert all(name in text for name in values.split(", "))


#: Things of which each of twenty images has one of its own.
THINGS = (
    *("ball", "bench", "bike", "boat", "bridge", "bucket", "camera", "chair", "cloud", "coat"),
    *("door", "drum", "fence", "guitar", "hat", "horse", "kite", "ladder", "lamp", "tree"),
)


@pytest.fixture
def twenty(db: None, data_dir: Path, tmp_path: Path) -> Path:
    """A corpus of twenty different pairs, and drawn vectors of its images in a file."""
    records = [
        ImageRecord(
            id=thing,
            filename=f"{thing}.jpg",
            captions=tuple(CaptionRecord(f"{start} {thing} .") for start in ("A", "There is a", "One")),
            split="train",
        )
        for thing in THINGS
    ]
    import_records(name="twenty", records=records, format="jsonl", source="memory")
    file = tmp_path / "drawn.npz"
    drawn = np.random.default_rng(5).normal(size=(len(THINGS), 32)).astype(np.float32)
    np.savez(file, vectors=drawn, ids=np.array([f"{thing}.jpg" for thing in THINGS]))
    return file


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("Ridge", ()),
        pytest.param(
            "BRNN",
            ("settings.rates=[0.0001]", "settings.epochs=100", "text.least_count=1"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_twenty_pairs_can_be_learned_by_heart(twenty: Path, recipe: str, changes: tuple[str, ...]) -> None:
    options = ("--corpus", "twenty", "--features", twenty, "--keep-last")
    changed = ("--changes", *changes) if changes else ()
    trained = output_of("train_system", "heart", "--recipe", recipe, *options, *changed)
    assert "20 training and 0 held-out images" in trained and "the last model stays" in trained
    assert System.objects.get(name="heart").settings["keep_last"] is True
    ranked = json.loads(output_of("rank", "heart", "--split", "train", "--json"))["runs"]
    assert [run["figures"]["R@1"] for run in ranked] == [1, 1]


def test_what_cannot_be_trained_without_held_out_images_is_said(corpus: str, features: Path) -> None:
    with pytest.raises(CommandError, match="--keep-last: Recipe BoW5 always chooses settings"):
        output_of("train_system", "no", "--recipe", "BoW5", "--corpus", corpus, "--keep-last")
    both = ("--features", features, "--keep-last", "--held-out", "val")
    with pytest.raises(CommandError, match="--held-out: .*keep"):
        output_of("train_system", "no", "--recipe", "Ridge", "--corpus", corpus, *both)
