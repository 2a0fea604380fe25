"""An evaluation in one step: what it trains, ranks and compares is what the single operations make."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError

from annotation.common.operations import Invalid, OperationContext
from evaluation.models import Report, Run, System
from evaluation.selectors import names_of, run_named
from evaluation.services import evaluating
from evaluation.services.evaluating import EvaluationRequest
from tests.evaluation.database.conftest import output_of

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
            evaluating.evaluate(request, context)
    assert System.objects.count() == 2 and Run.objects.count() == 4
    monkeypatch.setattr("models_core.systems.training.fit", killed)
    done = evaluating.evaluate(request, context)
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
    def errors(**fields: object) -> dict[str, str]:
        request = EvaluationRequest(corpus=corpus, **fields)
        with pytest.raises(Invalid) as raised:
            evaluating.check_evaluation(request, OperationContext(by_path=True))
        return {error.field: error.code for error in raised.value.errors}

    assert errors(recipes=("nCCA",)) == {"features": "recipe_needs"}
    assert errors(recipes=("NN5-F1",), words="glove") == {"words": "recipe_ignores"}
    assert errors(recipes=("Text-feature",), features=str(features)) == {"weak": "recipe_needs"}
    with pytest.raises(CommandError, match="--recipes"):
        output_of("evaluate", corpus)
    with pytest.raises(CommandError, match="--features: .*together with recipes"):
        output_of("evaluate", corpus, "--systems", "mine", "--features", features)
    assert not System.objects.exists()
