"""Each job of a round is killed midway, cancelled in each of its phases, and left without its broker.

It resumes, or ends as requested; in the end everything is stored once, as if nothing had happened.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from django.db import connections

from annotation import jobs
from annotation.common.operations import OperationContext, all_operations
from annotation.jobs.rows import LOST
from annotation.models import Campaign, Caption, Job, Judgment, Layer, TagList
from annotation.simulation_driver.soundness import violations
from evaluation.jobs import kinds as job_kinds
from evaluation.models import (
    Batch,
    CaptionSet,
    JudgmentSet,
    LocalizationSet,
    QrelsSnapshot,
    Report,
    Run,
    TagSet,
)
from evaluation.services.batches.recorded_judges import judge_as_recorded
from evaluation.services.batches.state import batch_state
from evaluation.services.features.parses import parses_of
from evaluation.services.features.store import feature_set, feature_sets
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.reports import building
from evaluation.services.systems.training import system_folder
from evaluation.services.weak.collections import weak_collections
from tests import services
from tests.conftest import need
from tests.evaluation.rounds.conftest import CORPUS, SMALL, World
from tests.evaluation.rounds.steps import BAD, GOOD, opening, selected_pairs_of, training, uploaded
from tests.evaluation.systems.scenes import write_parses
from tests.factories import put_on_server
from tests.jobs import workers
from tests.jobs.conftest import INSTALLATIONS, Delivery, sending_to
from tests.jobs.holding import held, hold
from tests.jobs.test_deliveries import pass_time
from tests.jobs.workers import wait_for, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

#: Jobs of campaigns about chains, tested in `systems/test_training_models.py`.
IN_CAMPAIGNS = {"propose_boxes", "train_model_annotator"}
#: Every other kind of job of evaluation: a new one must be added to the round.
KINDS = {
    *(
        module.name.rpartition(".")[2]
        for module in pkgutil.walk_packages(job_kinds.__path__, f"{job_kinds.__name__}.")
        if not module.ispkg
    ),
    *(row.name for row in all_operations() if row.as_job and row.app == "evaluation"),
} - IN_CAMPAIGNS


@dataclass
class Round:
    """The requests of a round, one job after the other, with the crowd's turns between them."""

    world: World
    recipe: str
    alignment: str
    runs: list[str]
    folder: Path

    def jobs(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield (kind, a phase in the middle, its arguments)."""
        yield "extract_visual_words", "describing pictures", {"corpus": SMALL}
        file = put_on_server("features", self.world.features)
        vectors = {"server_file": file, "ids": [str(self.world.ids)]}
        yield "import_features", "writing features", {"corpus": CORPUS, "name": "colours", **vectors}
        provided = {"shorter": 8, "output": "means"}
        weights = put_on_server("networks", self.world.network)
        seen = {"weights": weights, "extractor_settings": provided}
        yield "extract_features", "writing features", {"corpus": SMALL, "name": "net", **seen}
        boxes = {"method": "grid", "limit": 2}
        yield "extract_regions", "finding regions", {"corpus": CORPUS, "name": "parts", **seen, **boxes}
        parsed = write_parses(CORPUS, self.folder / "p.conllu")
        yield "import_parses", "reading parses", {"corpus": CORPUS, "file": put_on_server("parses", parsed)}
        words = {"corpus": CORPUS, "name": "words", "dimensions": 4, "epochs": 2}
        yield "train_word_vectors", "training word vectors", words
        drawn = {"corpus": CORPUS, "name": "drawn", **seen, "method": "gold", "limit": 50}
        yield "extract_regions", "writing features", drawn
        trained = {"regions": "drawn", "words": "words", "layer": Layer.objects.get().name}
        ground = {"name": "ground", "recipe": "Region-phrase-CCA", "corpus": CORPUS, **trained}
        yield "train_system", "adding up covariances", ground
        yield "localize", "localizing mentions", {"system": "ground", "regions": "parts"}
        yield "score_localization", "scoring localizations", {"localization_set": "ground"}
        yield "rank_tags", "ranking tags", {"corpus": CORPUS}
        usual = {"name": "usual", "recipe": "Tag-frequency", "corpus": CORPUS, "features": "colours"}
        yield "train_system", "counting tags", usual
        yield "tag", "tagging images", {"system": "usual"}
        yield "score_tags", "reading true tags", {"tag_set": "usual", "split": "test"}
        (self.folder / "weak.csv").write_text("id,title\nx,a dog\ny,the sea\n")
        weak = {"name": "weak", "file": put_on_server("collections", self.folder / "weak.csv")}
        yield "import_weak_collection", "importing texts", weak
        np.savez(self.folder / "weak.npz", vectors=np.eye(2), ids=np.array(["x", "y"]))
        cnn = {"name": "cnn", "file": put_on_server("features", self.folder / "weak.npz")}
        yield "import_collection_features", "writing features", {"collection": "weak", **cnn}
        aligned = {"name": "aligned", "recipe": self.alignment, "corpus": CORPUS, "regions": "parts"}
        yield "train_system", "learning", aligned
        yield "decode_alignments", "aligning words", {"system": "aligned", "layer": "decoded"}
        yield "generate_captions", "writing captions", {"system": "aligned", "name": "parts"}
        nearest = {"name": "nearest", "recipe": "NN-caption", "corpus": CORPUS, "features": "colours"}
        yield "train_system", "remembering captions", nearest
        yield "generate_captions", "writing captions", {"system": "nearest"}
        mixed = {"name": "candidates", "sets": ["nearest"], "images": 20}
        yield "judge_captions", "mixing captions", mixed
        yield "train_system", "image kernel", training(self.world, "kcca", self.recipe)
        yield "rank", "ranking, annotation", {"system": "kcca", "split": "test"}
        rounds = {"strategy": "move_to_front", "rounds": 2}
        runs = [*self.runs, "kcca-annotation", "kcca-search"]
        yield "open_batch", "opening its questions", {**opening("first", runs), **rounds}
        judge_as_recorded("first", "truth", mix={**GOOD, **BAD}, seed=1, patience=0)
        yield "reassign_pages", "reassigning pages", {"batch": "first"}
        judge_as_recorded("first", "truth", mix=GOOD, seed=2, patience=0)
        yield "next_round", "opening its questions", {"batch": "first"}
        judge_as_recorded("first", "truth", mix=GOOD, seed=2, patience=0)
        yield "collect_judgments", "reading answers", {"batch": "first"}
        frozen = {"name": "pooled", "corpus": CORPUS, "judgments": "first"}
        yield "freeze_qrels", "writing qrels", frozen
        yield "settle_batch", "reading answers", {"batch": "first", "qrels": "pooled"}
        reported = {"name": "first", "qrels": "pooled", "batch": "first", "runs": self.runs}
        yield "build_report", "saving the report", {**reported, "rounds": 50, "resamples": 50}

    def check(self) -> None:
        """Check that everything is stored once, and nothing was judged, paid or counted twice."""
        mixed = Run.objects.filter(corpus__name="candidates")
        assert sorted(mixed.values_list("name", "query_count")) == [
            ("candidates-nearest", 20),
            ("candidates-people-1", 20),
        ]
        runs = Run.objects.exclude(corpus__name="candidates")
        assert runs.filter(published=True).count() == len(self.runs) + 2 == runs.count()
        written = CaptionSet.objects.order_by("name").values_list("name", "caption_count", "published")
        assert list(written) == [("nearest", 72, True), ("parts", 216, True)]
        assert Batch.objects.count() == Campaign.objects.count() == 1
        assert JudgmentSet.objects.filter(published=True).count() == 2 == JudgmentSet.objects.count()
        assert QrelsSnapshot.objects.get().version == 1
        localization_set = LocalizationSet.objects.get()
        assert (localization_set.name, localization_set.image_count, localization_set.published) == (
            "ground",
            72,
            True,
        )
        assert (
            localization_set.mentions.count() == localization_set.mention_count > 24
            and localization_set.scores
        )
        tagged = TagSet.objects.get()
        assert (tagged.name, tagged.image_count, tagged.published) == ("usual", 72, True) and tagged.figures
        assert TagList.objects.get().corpus.name == CORPUS
        rows = {name: len(feature_set(CORPUS, name).ids()) for name in ("drawn", "words")}
        sets = [("colours:1", 72), ("drawn:1", rows["drawn"]), ("parts:1", 216), ("words:1", rows["words"])]
        assert [(weak_collection.label, weak_collection.rows) for weak_collection in feature_sets()] == [
            *sets,
            ("net:1", 4),
            ("cnn:1", 2),
        ]
        assert parses_of(CORPUS).captions == Caption.objects.filter(image__corpus__name=CORPUS).count()
        assert [(weak_collection.name, weak_collection.rows) for weak_collection in weak_collections()] == [
            ("weak", 2)
        ]
        layer = Layer.objects.get(name="decoded")
        assert layer.published and layer.covers.count() == 72 and Layer.objects.count() == 2
        report = Report.objects.get()
        folder = building.report_folder(report.name)
        assert {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} == set(
            report.files
        )
        assert {entry.name for entry in folder.parent.iterdir()} == {report.name}
        now = batch_state("first")
        assert (now.short, now.open, now.judgments) == (0, 0, "first")
        campaign = Campaign.objects.get()
        batch = Batch.objects.get()
        assert len(batch.rounds["selected"]) == 2
        assert sum(batch.rounds["selected"]) == batch.numbers["selected"] == len(selected_pairs_of(batch))
        assert not any(violations(campaign).values())
        answers = Judgment.objects.filter(campaign=campaign)
        assert answers.count() == answers.values("assignment").distinct().count()
        assert set(answers.filter(withdrawn=True).values_list("worker__pseudonym", flat=True)) <= {
            f"sim1-{kind}-{n:02}" for kind, number in BAD.items() for n in range(1, number + 1)
        }


@pytest.fixture
def a_round(world: World, recipes: dict[str, str], tmp_path: Path) -> Round:
    import_judgments(
        JudgmentsImport(name="truth", corpus=CORPUS, file=world.judgments, format="table"), OperationContext()
    )
    return Round(
        world,
        recipes["kcca"],
        recipes["alignment"],
        uploaded(tmp_path, "oracle", world, truth=3.0, seed=1),
        tmp_path,
    )


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not draw figures: a report is started many times here."""
    monkeypatch.setattr(building, "as_svg", lambda plot: "<svg/>")
    monkeypatch.setattr(building, "as_pdf", lambda plot: b"%PDF")


@pytest.mark.slow  # the default run kills jobs in `jobs/test_deliveries`, and resumes batches
@pytest.mark.only_on("postgresql")  # it detects by itself that the holder of a lock is gone
def test_each_job_of_a_round_outlives_its_killed_process(
    a_round: Round, data_dir: Path, unpainted: None, request: pytest.FixtureRequest
) -> None:
    """Dearer than a test may be: a round has thirty jobs. Each is begun by a process that is killed in the
    midst of it, and brought to its end by this one, which has seen nothing of it. That process is a fork of
    this one: a worker's start costs more than most of the jobs."""
    # Trainings import it, for seconds: import it once here, not in each fork.
    importlib.import_module("torch._dynamo")
    # Threads do not survive a fork, and OpenCV there would wait for its own: stop them.
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    request.addfinalizer(lambda: cv2.setNumThreads(threads))
    kinds = set()
    for kind, phase, arguments in a_round.jobs():
        kinds.add(kind)
        hold(data_dir).write_text(phase)
        job = jobs.enqueue(kind=kind, arguments=arguments)
        with working_apart(job) as pid:
            wait_until(
                held(data_dir).exists,
                f"{kind} to come to {phase!r}; it is {Job.objects.get(pk=job.pk).phase!r}",
            )
            os.kill(pid, signal.SIGKILL)
        hold(data_dir).unlink()
        held(data_dir).unlink()
        assert Job.objects.get(pk=job.pk).state == Job.RUNNING
        pass_time(seconds=LOST + 1)
        assert jobs.sweep_jobs() == jobs.SweptJobs(again=1)
        assert jobs.run_queued_job(job.pk) == Job.DONE
        assert Job.objects.get(pk=job.pk).attempts == 2
    assert kinds == KINDS
    a_round.check()


@contextlib.contextmanager
def working_apart(job: Job) -> Iterator[int]:
    """Fork this process to run the job; yield the fork's id, which is not reused before the end."""
    connections.close_all()
    pid = os.fork()
    if pid == 0:
        try:
            jobs.run_queued_job(job.pk)
        finally:
            os._exit(1)  # the tests' cleanup must not run twice
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.mark.slow  # without it forks are killed, and workers in jobs/test_deliveries.py
@pytest.mark.parametrize("installation", INSTALLATIONS, indirect=True)
def test_each_job_of_a_round_outlives_its_killed_worker(
    installation: Delivery, a_round: Round, data_dir: Path
) -> None:
    """Who brings a job to its end is killed in the midst of the next: a worker takes seconds to start."""
    kinds = set()
    with contextlib.ExitStack() as at_work:
        worker = at_work.enter_context(installation.worker())
        for kind, phase, arguments in a_round.jobs():
            kinds.add(kind)
            hold(data_dir).write_text(phase)
            job = jobs.enqueue(kind=kind, arguments=arguments)
            wait_until(
                held(data_dir).exists,
                f"{kind} to come to {phase!r}; it is {Job.objects.get(pk=job.pk).phase!r}",
            )
            worker.kill()
            at_work.close()
            hold(data_dir).unlink()
            held(data_dir).unlink()
            assert Job.objects.get(pk=job.pk).state == Job.RUNNING
            pass_time(seconds=LOST + 1)
            assert jobs.sweep_jobs() == jobs.SweptJobs(again=1)
            worker = at_work.enter_context(installation.worker())
            assert wait_for(job, Job.DONE).attempts == 2
    assert kinds == KINDS
    a_round.check()


@pytest.mark.slow  # without it, each job resumes after its worker's death, and single ones are cancelled
def test_each_job_of_a_round_is_cancelled_in_each_phase_and_goes_on(a_round: Round, unpainted: None) -> None:
    kinds = set()
    for kind, _, arguments in a_round.jobs():
        kinds.add(kind)
        job = jobs.enqueue(kind=kind, arguments=arguments)
        seen: set[str] = set()

        def cancel_once_a_phase(job: Job = job, seen: set[str] = seen) -> bool:
            phase = Job.objects.get(pk=job.pk).phase
            if phase and phase not in seen:
                seen.add(phase)
                jobs.cancel_job(job_id=job.pk)
            return False

        ended = jobs.run_queued_job(job.pk, stopping=cancel_once_a_phase)
        while ended == Job.CANCELLED:
            assert kind != "train_system" or not system_folder(arguments["name"]).exists()
            jobs.resume_job(job_id=job.pk)
            ended = jobs.run_queued_job(job.pk, stopping=cancel_once_a_phase)
        assert ended == Job.DONE and seen, kind
    assert kinds == KINDS
    a_round.check()


@pytest.mark.slow  # the default run has a broker that loses its data, in `jobs/test_deliveries`
@pytest.mark.only_on("postgresql")
def test_a_broker_that_is_started_again_delivers_what_comes_after(
    a_round: Round, data_dir: Path, tmp_path: Path
) -> None:
    """The job that runs meanwhile does not need it, and is done once.

    Celery's worker does not always find its way back: one that held a message when Redis went away may end,
    with status 1, once its job is done. Who watches over it starts the next, as compose does.
    """
    redis, port = need("redis"), services.free_port()
    command = [*workers.CELERY, "--hostname", "restarted@here"]
    with contextlib.ExitStack() as broker, contextlib.ExitStack() as watched:
        url = broker.enter_context(services.redis_server(redis, port=port))
        watched.enter_context(sending_to(url))
        worker = watched.enter_context(workers.started(command, tmp_path, REDIS_URL=url))
        hold(data_dir).write_text("image kernel")
        job = jobs.enqueue(kind="train_system", arguments=training(a_round.world, "kcca", a_round.recipe))
        wait_until(held(data_dir).exists, "the training to be in its midst")
        broker.close()
        hold(data_dir).unlink()
        assert wait_for(job, Job.DONE).attempts == 1
        with services.redis_server(redis, port=port):
            ranking = jobs.enqueue(kind="rank", arguments={"system": "kcca", "split": "test"})

            def done() -> bool:
                if worker.process.poll() == 1:
                    worker.process.returncode = 0  # already reaped
                    watched.enter_context(workers.started(command, tmp_path, REDIS_URL=url))
                return Job.objects.get(pk=ranking.pk).state == Job.DONE

            wait_until(done, "the next job to be done")
    assert Job.objects.get(pk=job.pk).attempts == Job.objects.get(pk=ranking.pk).attempts == 1
    assert Run.objects.filter(published=True).count() == len(a_round.runs) + 2
