"""The same work as jobs: phases and shares, cancelled and resumed, refused in one line."""

from pathlib import Path

import pytest

from annotation import jobs
from annotation.models import Job
from evaluation.models import Run, System
from evaluation.services.systems.training import system_folder
from models_core.storage import file_digest
from models_core.systems import trained_system
from tests.factories import put_on_server

pytestmark = pytest.mark.django_db


@pytest.fixture
def training(corpus: str, features: Path, own_recipe: Path) -> Job:
    for folder, file in (("recipes", own_recipe), ("features", features)):
        put_on_server(folder, file)
    arguments = {"name": "mine", "recipe": own_recipe.name, "corpus": corpus, "features": features.name}
    return jobs.enqueue(kind="train_system", arguments=arguments)


def now(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def test_a_training_and_a_ranking_are_jobs(training, features):
    assert jobs.run_queued_job(training.pk) == Job.DONE
    done = now(training)
    assert (done.share, done.phase) == (1.0, "storing")
    assert done.result["training"] == 36
    entered = System.objects.get()
    assert (entered.name, entered.job, entered.recipe, entered.seed) == ("mine", training, "own", 0)
    assert (entered.sources, entered.digest) == (
        {str(features.resolve()): file_digest(features)},
        done.result["sha256"],
    )
    ranking = jobs.enqueue(kind="rank", arguments={"system": "mine", "split": "test"})
    assert jobs.run_queued_job(ranking.pk) == Job.DONE
    assert [run["run"] for run in now(ranking).result["runs"]] == ["mine-annotation", "mine-search"]
    assert Run.objects.filter(published=True).count() == 2


def test_shares_rise_and_phases_are_named(training):
    seen = []

    def look() -> bool:
        row = now(training)
        seen.append((row.phase, row.share))
        return False

    jobs.run_queued_job(training.pk, stopping=look)
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    phases = list(dict.fromkeys(phase for phase, _ in seen))
    assert phases == [
        "reading captions",
        "text kernel",
        "image kernel",
        "decomposing kernels",
        "trying regularisers",
        "storing",
    ]


def test_a_cancelled_training_leaves_no_system_and_goes_on(training):
    def cancel() -> bool:
        if now(training).phase == "decomposing kernels" and not now(training).cancel:
            jobs.cancel_job(job_id=training.pk)
        return False

    assert jobs.run_queued_job(training.pk, stopping=cancel) == Job.CANCELLED
    assert not system_folder("mine").exists()
    kernels = system_folder(".training-mine")
    waiting = {entry.name: entry.stat().st_mtime_ns for entry in kernels.iterdir()}
    assert len(waiting) == 2
    jobs.resume_job(job_id=training.pk)
    during = {}

    def look() -> bool:
        if kernels.exists():
            during.update({entry.name: entry.stat().st_mtime_ns for entry in kernels.iterdir()})
        return False

    assert jobs.run_queued_job(training.pk, stopping=look) == Job.DONE
    assert during == waiting
    assert not kernels.exists()
    assert trained_system.TrainedSystem.load(system_folder("mine")).recipe.kind.learns


def test_a_worker_that_must_end_hands_the_training_on(training):
    assert (
        jobs.run_queued_job(training.pk, stopping=lambda: now(training).phase == "image kernel") == Job.QUEUED
    )
    assert jobs.run_queued_job(training.pk) == Job.DONE


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("train_system", {"name": "a", "recipe": "TRI6", "corpus": "world"}, "unknown recipe"),
        ("rank", {"system": "nobody", "split": "test"}, "unknown system 'nobody'"),
        (
            "extract_visual_words",
            {"corpus": "world"},
            "no image of corpus 'world' has a caption and a picture",
        ),
        ("extract_visual_words", {"corpus": "nowhere"}, "unknown corpus 'nowhere'"),
    ],
)
def test_what_is_wrong_fails_a_job_in_one_line(corpus, kind, arguments, says):
    job = jobs.enqueue(kind=kind, arguments=arguments)
    assert jobs.run_queued_job(job.pk) == Job.FAILED
    error = now(job).error
    assert error.startswith(says)
    assert "\n" not in error


def test_captions_that_were_read_stay_for_others(training, data_dir):
    jobs.run_queued_job(training.pk)
    assert [entry.name.split("-")[0] for entry in (data_dir / "kept").iterdir()] == ["reading"]
