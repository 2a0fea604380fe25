"""Batches in rounds: each selected from the earlier answers, with the same people, until the order is
stable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from annotation import jobs
from annotation.campaigns import close_campaign, pause_campaign, resume_campaign
from annotation.common import database
from annotation.jobs.schedule import do
from annotation.models import Campaign, Job, Judgment, OpenImage, Task, TrustState
from annotation.moderation import reopening, worker_status
from annotation.protocol.questions import Answer
from annotation.selectors.pair_judgments import selected_pairs
from evaluation.models import Batch
from evaluation.services.batches import rounds
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import check_known, launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.batches.reassignment import reassign_answers
from evaluation.services.batches.rounds import STABLE, ask_next_round
from evaluation.services.batches.scheduler import ROUND_CHECK_INTERVAL
from evaluation.services.batches.state import batch_state
from evaluation.services.batches.stored_answers import BatchError
from phrasebox.pooling.active import NextPairs
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.pooled_world import UNTESTED, a_world, crowd, runs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pooled_runs(data_dir: Path, tmp_path: Path) -> list[str]:
    a_world()
    names = []
    for number, noise in enumerate((0.2, 0.9, 2.5)):
        names += runs(tmp_path, f"noise{number}", noise=noise, seed=number)
    return names


def opened(names: list[str], **also) -> Batch:
    chosen = {"strategy": "move_to_front", "rounds": 10, "campaign_settings": UNTESTED}
    return launch(plan(BatchRequest(corpus="quay", runs=names, depth=4, **{**chosen, **also})), "first").batch


def answer(batch: Batch, seed: int) -> None:
    """Let new workers answer each time: a simulated crowd has no memory."""
    crowd(batch.campaign, {"perfect": 4}, seed=seed)


def test_rounds_are_asked_until_the_order_of_the_systems_is_stable(pooled_runs: list[str]) -> None:
    whole = plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=4, campaign_settings=UNTESTED))
    batch = opened(pooled_runs)
    first = batch.numbers["selected"]
    assert batch.numbers["askable"] == len(whole.selected) and 0 < first <= round(0.1 * len(whole.selected))
    with pytest.raises(BatchError, match="answers of batch 'first' are still missing"):
        ask_next_round("first")
    done, seed = None, 0
    while done is None or not done.ended:
        seed += 1
        answer(batch, seed)
        done = ask_next_round("first")
        assert done.ended or done.pairs
        pairs = list(selected_pairs(batch.campaign))
        assert len(set(pairs)) == len(pairs), "a pair is shown once"
        assert done.selected == sum(role == "wanted" for *_, role in pairs)
        numbers = Batch.objects.get().numbers
        assert numbers["fillers"] == sum(role == "filler" for *_, role in pairs)
        assert numbers["selected"] + numbers["fillers"] + numbers["missing"] == 50 * numbers["task_count"]
    assert done.ended == STABLE and done.tau is not None and done.tau >= 0.95
    assert done.selected < done.askable
    # A second call changes nothing.
    tasks = Task.objects.count()
    assert ask_next_round("first") == done and Task.objects.count() == tasks
    seen = batch_state("first")
    assert seen.complete and seen.rounds is not None and seen.rounds.ended == STABLE
    assert not OpenImage.objects.filter(complete=False).exists()
    assert collect("first").short == 0


def ended_batch(names: list[str]) -> Batch:
    """Return a batch in rounds that has ended, since its systems keep their order."""
    batch, seed = opened(names), 0
    done = None
    while done is None or not done.ended:
        seed += 1
        answer(batch, seed)
        done = ask_next_round("first")
    assert done.ended == STABLE and done.tau is not None
    return Batch.objects.get()


def test_a_batch_whose_answers_change_after_its_end_is_not_ended_until_it_is_chosen_again(
    pooled_runs: list[str],
) -> None:
    batch = ended_batch(pooled_runs)
    before = ask_next_round("first")
    pause_campaign(campaign=batch.campaign, reason="noon")
    resume_campaign(campaign=batch.campaign)
    assert do("ask_next_rounds") and not Job.objects.exists() and ask_next_round("first") == before
    worker = Judgment.objects.order_by("id").values_list("worker", flat=True)[0]
    worker_status.withdraw_worker_answers(campaign=batch.campaign, worker=worker)
    seen = batch_state("first").rounds
    assert seen is not None and (seen.ended, seen.tau, seen.outdated) == ("", None, True)
    assert "had ended, but answers changed since" in output_of("batch_status", "first")
    assert do("ask_next_rounds") and not Job.objects.exists(), "answers are to come"
    with pytest.raises(BatchError, match="are still missing"):
        ask_next_round("first")
    worker_status.restore_worker_answers(campaign=batch.campaign, worker=worker)
    assert ask_next_round("first") == before, "the answers are those that it ended by"
    worker_status.withdraw_worker_answers(campaign=batch.campaign, worker=worker)
    answer(batch, 99)
    assert do("ask_next_rounds")
    job = Job.objects.get()
    assert jobs.run_queued_job(job.pk) == Job.DONE
    now = Batch.objects.get().rounds
    assert now != batch.rounds and not Job.objects.get().result["outdated"]
    assert bool(now["ended"]) == bool(now["answers"]) == (now["selected"] == batch.rounds["selected"])
    assert do("ask_next_rounds") and Job.objects.count() == 1


def test_a_round_that_is_asked_after_the_end_opens_the_batch_again(
    pooled_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = ended_batch(pooled_runs)
    worker = Judgment.objects.order_by("id").values_list("worker", flat=True)[0]
    worker_status.withdraw_worker_answers(campaign=batch.campaign, worker=worker)
    answer(batch, 99)
    choose = rounds.next_pairs_of_round

    def not_stable(
        result: Any, whole: Any, candidates: Any, *, selected_pairs: Any, **about: Any
    ) -> NextPairs:
        chosen = choose(result, whole, candidates, selected_pairs=selected_pairs, **about)
        return replace(chosen, pairs=np.setdiff1d(candidates, selected_pairs)[:3], stable=False)

    with monkeypatch.context() as patched:
        patched.setattr(rounds, "next_pairs_of_round", not_stable)
        done = ask_next_round("first")
    assert (done.ended, done.outdated, done.pairs) == ("", False, 3)
    assert Batch.objects.get().rounds["ended"] == "" and done.rounds == len(batch.rounds["selected"]) + 1


def test_a_judge_who_changes_an_answer_after_the_end_has_the_batch_chosen_again(
    pooled_runs: list[str],
) -> None:
    batch = ended_batch(pooled_runs)
    row = Judgment.objects.filter(campaign=batch.campaign).latest("id")
    assert row.content is not None and row.assignment_id is not None
    ticked = [[not yes for yes in block["yes"]] for block in row.content["blocks"]]
    assert reopening.change_answer(
        worker=row.worker_id,
        assignment=row.assignment_id,
        answer=Answer("judged", content={"ticked": ticked}),
    )
    seen = batch_state("first").rounds
    assert seen is not None and (seen.ended, seen.outdated) == ("", True)


def test_an_image_that_is_done_is_asked_more_and_its_answers_still_count(pooled_runs: list[str]) -> None:
    batch = opened(pooled_runs, rounds=3)
    answer(batch, 1)
    before = Judgment.objects.count()
    again = set(OpenImage.objects.values_list("image", flat=True))
    ask_next_round("first")
    more = set(OpenImage.objects.filter(complete=False).values_list("image", flat=True))
    assert more & again, "some pages of the second round stand with images of the first"
    answer(batch, 2)
    assert Judgment.objects.count() > before and batch_state("first").complete
    # Withdrawn answers of the first round open its questions again, in addition to those of the second.
    worker = Judgment.objects.order_by("id").values_list("worker", flat=True)[0]
    count = Judgment.objects.filter(worker=worker, image__isnull=False).count()
    worker_status.withdraw_worker_answers(campaign=batch.campaign, worker=worker)
    assert batch_state("first").answers_to_come == count
    with pytest.raises(BatchError, match=f"{count} answers"):
        ask_next_round("first")


def test_a_round_that_dies_on_the_way_leaves_nothing(pooled_runs: list[str], monkeypatch) -> None:
    batch = opened(pooled_runs)
    answer(batch, 1)
    tasks, numbers = Task.objects.count(), Batch.objects.get().numbers

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the power went")

    with monkeypatch.context() as patched:
        patched.setattr("evaluation.services.batches.rounds.round_status", fail)
        patched.setattr("annotation.campaigns.counted.record", fail)
        with pytest.raises(RuntimeError):
            ask_next_round("first")
    assert (Task.objects.count(), Batch.objects.get().numbers) == (tasks, numbers)
    job = jobs.enqueue(kind="next_round", arguments={"batch": "first"})
    assert jobs.run_queued_job(job.pk) == Job.DONE
    assert Job.objects.get(pk=job.pk).result["rounds"] == 2 and Task.objects.count() > tasks
    # Started again after it was done: its answers are pending, and nothing is asked twice.
    again = jobs.enqueue(kind="next_round", arguments={"batch": "first"})
    assert jobs.run_queued_job(again.pk) == Job.FAILED
    assert "are still missing" in Job.objects.get(pk=again.pk).error


def test_an_open_batch_asks_its_next_round_by_itself(pooled_runs: list[str]) -> None:
    batch = opened(pooled_runs)
    assert do("ask_next_rounds") and not Job.objects.exists()
    answer(batch, 1)
    trust_state = TrustState.objects.filter(items__gt=0).order_by("id")[0]
    TrustState.objects.filter(pk=trust_state.pk).update(known=10, right=6)
    assert do("ask_next_rounds") and not Job.objects.exists(), "its judge is to be discarded first"
    TrustState.objects.filter(pk=trust_state.pk).update(known=10, right=7)
    pause_campaign(campaign=batch.campaign, reason="noon")
    assert do("ask_next_rounds") and not Job.objects.exists()
    resume_campaign(campaign=batch.campaign)
    assert do("ask_next_rounds") and do("ask_next_rounds")
    job = Job.objects.get()
    assert jobs.run_queued_job(job.pk) == Job.DONE and Batch.objects.get().rounds["selected"][1:]
    assert jobs.run_queued_job(jobs.enqueue(kind="next_round", arguments=job.arguments).pk) == Job.DONE, (
        "asked once"
    )
    assert len(Batch.objects.get().rounds["selected"]) == 2
    early = jobs.enqueue(kind="next_round", arguments={"batch": "first", "round": 3})
    assert jobs.run_queued_job(early.pk) == Job.FAILED
    answer(batch, 2)
    before = Job.objects.count()
    assert do("ask_next_rounds") and Job.objects.count() == before, "not at once"
    Job.objects.filter(pk=early.pk).update(finished_at=database.now() - ROUND_CHECK_INTERVAL)
    assert do("ask_next_rounds") and Job.objects.count() == before + 1
    Job.objects.filter(pk=Job.objects.latest("pk").pk).update(state=Job.CANCELLED)
    assert do("ask_next_rounds") and Job.objects.count() == before + 1, "a cancelled one is left to people"


def test_the_price_is_that_of_all_rounds_and_control_items_are_of_none(pooled_runs: list[str]) -> None:
    batch = opened(pooled_runs)
    answer(batch, 1)
    ask_next_round("first")
    numbers = Batch.objects.get().numbers
    assert numbers["selected"] > batch.numbers["selected"]
    assert numbers["judgments"] == batch.judges * numbers["selected"]
    assert numbers["answers"] == batch.judges * numbers["task_count"] == batch.judges * Task.objects.count()
    assert numbers["hours"] == pytest.approx(numbers["answers"] * numbers["seconds_an_answer"] / 3600)
    chosen: dict[str, Any] = {"strategy": "depth", "rounds": 100, "campaign_settings": UNTESTED, "reuse": []}
    later = plan(BatchRequest(corpus="quay", runs=pooled_runs, depth=4, threshold=0, **chosen))
    quiet = set(later.pooled.ids(later.selected)[0].tolist())
    assert len(quiet) < len(set(later.pooled.ids(later.may_ask)[0].tolist()))
    names = batch.corpus.images.exclude(pk__in=quiet).filter(split="test")
    names.update(split="quiet")
    with pytest.raises(BatchError, match="images that the batch asks about"):
        check_known(later, "quiet")


def test_a_closed_campaign_asks_nobody_again(pooled_runs: list[str]) -> None:
    batch = opened(pooled_runs)
    answer(batch, 1)
    TrustState.objects.filter(items__gt=0).update(known=10, right=6)
    close_campaign(campaign=batch.campaign)
    with pytest.raises(BatchError, match="is closed, so pages cannot be reassigned"):
        reassign_answers("first")
    assert not Judgment.objects.filter(withdrawn=True).exists()


@pytest.mark.slow  # the default run has pages; graded pairs without rounds in `test_collecting`
def test_graded_pairs_are_asked_in_rounds_too(pooled_runs: list[str]) -> None:
    batch = opened(pooled_runs, tasks="graded", threshold=0, rounds=2, strategy="depth")
    answer(batch, 1)
    done = ask_next_round("first")
    assert done.rounds == 2 and Task.objects.count() == done.selected
    answer(batch, 2)
    assert ask_next_round("first").ended


def test_commands_open_a_batch_in_rounds_and_tell_how_far_it_is(
    pooled_runs: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "untested.toml"
    config.write_text("[trust]\nqualification = false\n")
    chosen = ["--corpus", "quay", "--depth", 4, "--campaign-settings", config, "--runs", *pooled_runs]
    rounds = ["--strategy", "move_to_front", "--rounds", 4]
    price = json.loads(output_of("plan_batch", *chosen, *rounds, "--json"))["numbers"]
    assert 0 < price["selected"] <= price["askable"] / 4 + 1
    assert "to be asked, in a first round" in output_of("open_batch", "first", *chosen, *rounds)
    answer(Batch.objects.get(), 1)
    assert "asked in 2 rounds" in output_of("next_round", "first")
    assert "asked in 2 rounds" in output_of("batch_status", "first")
    with pytest.raises(CommandError, match="--strategy: Expected one of: .*'depth'"):
        output_of("plan_batch", *chosen, "--strategy", "best")


def test_a_batch_that_asks_all_at_once_has_no_next_round(pooled_runs: list[str]) -> None:
    opened(pooled_runs, strategy=None)
    with pytest.raises(BatchError, match="asks all its pairs at once"):
        ask_next_round("first")
    assert Campaign.objects.count() == 1
