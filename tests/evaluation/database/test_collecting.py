"""Collecting the answers of batches: whose answers count, what is missing, and what the next batch asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.models import AuditEntry, Campaign, Caption, Item, Judgment, Task, TrustState, Worker
from annotation.moderation import worker_status
from annotation.protocol.trust import SUSPENDED
from evaluation.comparison.scoring import score
from evaluation.models import Batch, JudgmentSet, PairAnswers, QrelsRow
from evaluation.selectors import judged_pairs, judgment_set, names_of, run_named, snapshot_named
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.pooled_runs import WIDEST, PooledRuns, pooled
from evaluation.services.batches.state import batch_state
from evaluation.services.batches.stored_answers import Answers, BatchError, answers_of_batches
from evaluation.services.judgments.freezing import freeze_qrels
from tests.evaluation.database.pooled_world import (
    JUDGED,
    crowd,
    pairs_on_pages,
    planned,
    runs,
    scene,
)
from tests.factories import a_corpus, some_images

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_full_round_with_bad_judges_and_a_second_batch(pooled_runs: list[str], tmp_path: Path) -> None:
    """Pool, ask, discard, ask again, freeze, score; then one more system: only what is new is asked."""
    first = launch(planned(pooled_runs), "first", known_from="dev").batch
    crowd(first.campaign, {"perfect": 6, "always_yes": 2})
    suspended = TrustState.objects.filter(state=SUSPENDED)
    assert suspended and all("always_yes" in row.worker.pseudonym for row in suspended)

    early = collect("first")
    # Answers of workers with too few control images for a verdict are not used either.
    assert {row.worker.pseudonym for row in suspended} <= set(early.unused)
    assert all("always_yes" in judge for judge in early.unused)
    assert early.short > 0
    for worker in Worker.objects.filter(pseudonym__in=early.unused):
        worker_status.withdraw_worker_answers(campaign=first.campaign, worker=worker.pk)
    crowd(first.campaign, {"perfect": 12}, seed=2)
    late = collect("first")
    assert (late.judgments, late.short, late.unchanged) == ("first-2", 0, False)
    assert JudgmentSet.objects.get(name="first").pair_count == early.pairs <= late.pairs

    names = names_of("quay")
    pairs = list(judged_pairs(judgment_set("quay", "first-2"), names))
    assert all(len(set(pair.judges)) == len(pair.grades) >= 3 for pair in pairs)
    assert all(
        (pair.mean > 0.5) == (scene(pair.query) == scene(pair.document.partition("#")[0])) for pair in pairs
    )

    frozen = freeze_qrels(name="pooled", corpus="quay", judgments="first-2")
    relevant = QrelsRow.objects.filter(snapshot=snapshot_named("pooled"), relevance=1)
    assert relevant.count() == frozen.relevant > JUDGED
    by_run = {
        name: {
            m: s.value
            for m, s in score(
                run_named(name), snapshot_named("pooled"), ["S@1", "R-precision"]
            ).scores.items()
        }
        for name in pooled_runs
    }
    for direction in ("annotation", "search"):
        for measure in ("S@1", "R-precision"):
            assert by_run[f"sharp-{direction}"][measure] > by_run[f"blunt-{direction}"][measure]

    more = [*pooled_runs, *runs(tmp_path, "third", noise=0.6, seed=3)]
    second = planned(more, simulated=True)
    assert second.known == first.numbers["selected"]
    before = pairs_on_pages()
    judged_before = before["wanted"] | before["filler"]
    launched = launch(second, "second", known_from="dev").batch
    new = {
        (row["image"], owner)
        for row in Item.objects.filter(task__campaign=launched.campaign).values_list("content", flat=True)
        for owner, _ in row["captions"]
    }
    assert new and not new & judged_before
    crowd(launched.campaign, {"perfect": 8}, seed=3)
    both = collect("second")
    assert both.short == 0 and both.pairs == late.pairs + len(new)
    qrels = freeze_qrels(name="pooled", corpus="quay", judgments="second")
    assert (qrels.version, qrels.rows) == (2, frozen.rows + len(new))
    with pytest.raises(BatchError, match="nothing to ask"):
        launch(planned(more, simulated=True), "third")


def test_collected_again_nothing_changes_until_something_is_withdrawn(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    with pytest.raises(BatchError, match="no valid judgments"):
        collect("first")
    elsewhere = a_corpus("elsewhere", some_images(1))
    JudgmentSet.objects.create(corpus=elsewhere, name="first", format="f", source="s", published=True)
    crowd(batch.campaign, {"perfect": 5})
    first, again = collect("first"), collect("first")
    assert first.judgments == "first", "the name is free: what bears it belongs to another corpus"
    assert (first.unchanged, again.unchanged) == (False, True)
    assert (again.judgments, again.digest, again.new) == ("first", first.digest, 0)
    assert JudgmentSet.objects.filter(corpus=batch.corpus).count() == 1
    worker = Judgment.objects.values_list("worker", flat=True)[0]
    worker_status.withdraw_worker_answers(campaign=batch.campaign, worker=worker)
    less = collect("first")
    assert less.judgments == "first-2" and less.answers < first.answers and less.short > 0
    # Missing pairs are new, whatever else is missing.
    gone = list(PairAnswers.objects.filter(judgments__name="first-2").values_list("pk", flat=True)[:2])
    PairAnswers.objects.filter(pk__in=gone).delete()
    assert collect("first").new == 2
    worker_status.restore_worker_answers(campaign=batch.campaign, worker=worker)
    assert collect("first").digest == first.digest


def test_judges_below_the_bar_are_not_used_though_nobody_suspended_them(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    crowd(batch.campaign, {"perfect": 5})
    whole = collect("first")
    trust_state = TrustState.objects.filter(items__gt=0)[0]
    TrustState.objects.filter(pk=trust_state.pk).update(known=10, right=7)
    assert collect("first").unchanged
    TrustState.objects.filter(pk=trust_state.pk).update(known=10, right=6)
    less = collect("first")
    assert less.unused == {trust_state.worker.pseudonym: "6 of 10 control items right"}
    assert less.answers < whole.answers and less.short > 0


def test_a_judge_counts_once_for_a_pair_and_the_nameless_count_each() -> None:
    answers = Answers()
    for judge, value in (("ann", 1), ("ann", 0), (1, 0), (2, 0)):
        answers.add((7, 8), judge, value)
    _, _, counts, values = answers.arrays()
    assert (counts.tolist(), values) == ([3], [[1, 0, 0]])


def test_the_nameless_of_two_sets_are_others() -> None:
    """Each of two sets has three nameless answers about the same pairs: all of them count."""
    corpus = a_corpus("elsewhere", some_images(2))
    owners = list(Caption.objects.filter(image__corpus=corpus).order_by("pk").values_list("image", "pk"))[:2]
    for name, grades in (("first", [[0, 0, 0], [0, 1, 0]]), ("second", [[1, 1, 1], [1, 1, 1]])):
        created = JudgmentSet.objects.create(
            corpus=corpus, name=name, format="f", source="s", published=True, pair_count=2
        )
        for position, ((image, caption), grade) in enumerate(zip(owners, grades, strict=True)):
            created.pairs.create(position=position, image_id=image, caption_id=caption, grades=grade)
    result, _ = answers_of_batches(
        corpus="elsewhere", tasks="relevance", reuse=["first", "second"], batches=[]
    )
    assert [sorted(provided.values()) for provided in result.of.values()] == [
        [0, 0, 0, 1, 1, 1],
        [0, 0, 1, 1, 1, 1],
    ]


def test_a_pair_with_too_few_answers_is_asked_again(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    crowd(batch.campaign, {"perfect": 5})
    worker = Judgment.objects.values_list("worker", flat=True)[0]
    worker_status.withdraw_worker_answers(campaign=batch.campaign, worker=worker)
    short = batch_state("first").short
    again = planned(pooled_runs, simulated=True)
    assert (len(again.selected), again.begun) == (short, short) and short > 0


def test_answers_of_simulated_workers_are_never_mixed_with_peoples(pooled_runs: list[str]) -> None:
    trial = launch(planned(pooled_runs, depth=2), "trial").batch
    crowd(trial.campaign, {"perfect": 4})
    collect("trial")
    assert judgment_set("quay", "trial").simulated
    plan = planned(pooled_runs)
    assert plan.known == 0 < planned(pooled_runs, simulated=True).known
    with pytest.raises(BatchError, match="'trial' are of simulated workers, .* leave them out, or have"):
        planned(pooled_runs, reuse=["trial"])
    with pytest.raises(BatchError, match="'trial' were collected from batch 'trial', .* reused anyway"):
        planned(pooled_runs, reuse=["trial"], simulated=True)
    assert plan.digest != planned(pooled_runs, simulated=True).digest
    real = launch(plan, "real").batch
    assert not real.campaign.simulated
    crowd(real.campaign, {"perfect": 4}, seed=2)
    Campaign.objects.filter(pk=real.campaign_id).update(simulated=False)  # as if people had answered
    collect("real")
    judgments = Judgment.objects.filter(campaign=real.campaign)
    of_real = set(judgments.values_list("worker__pseudonym", flat=True))
    stored = list(judged_pairs(judgment_set("quay", "real"), names_of("quay")))
    assert {judge for pair in stored for judge in pair.judges} <= of_real
    assert not judgment_set("quay", "real").simulated


def test_only_simulated_workers_may_answer_a_batch_that_is_a_trial_from_its_start(
    pooled_runs: list[str],
) -> None:
    batch = launch(planned(pooled_runs, simulated=True), "trial").batch
    assert Campaign.objects.get(pk=batch.campaign_id).simulated
    assert AuditEntry.objects.filter(campaign=batch.campaign, act="mark_simulated").exists()


def test_graded_pairs_are_asked_one_by_one_and_their_grades_collected(pooled_runs: list[str]) -> None:
    plan = planned(pooled_runs, tasks="graded", depth=1, threshold=0, judges=2)
    batch = launch(plan, "grades").batch
    assert Task.objects.count() == len(plan.selected) == plan.price.tasks
    crowd(batch.campaign, {"perfect": 4})
    done = collect("grades")
    assert (done.pairs, done.answers, done.short) == (len(plan.selected), 2 * len(plan.selected), 0)
    grades = {
        grade
        for pair in judged_pairs(judgment_set("quay", "grades"), names_of("quay"))
        for grade in pair.grades
    }
    assert grades == {1, 4}
    omissions = batch_state("grades", omissions=True).omissions
    assert omissions is not None and {row.run for row in omissions} == set(pooled_runs)
    frozen = freeze_qrels(name="graded", corpus="quay", judgments="grades")
    assert frozen.by_rule["mean_grade"] == frozen.relevant > JUDGED
    by_run = {name: score(run_named(name), snapshot_named("graded"), ["nDCG@10"]) for name in pooled_runs}
    for direction in ("annotation", "search"):
        values = [by_run[f"{name}-{direction}"].scores["nDCG@10"].value for name in ("sharp", "blunt")]
        assert values[0] > values[1]


def test_a_state_tells_what_the_filter_and_the_pool_lose(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    assert batch_state("first").loss is None
    crowd(batch.campaign, {"perfect": 5})
    result = batch_state("first", omissions=True)
    assert (result.open, result.short, result.judged) == (0, 0, batch.numbers["selected"])
    assert result.loss is not None
    # Captions of a scene share their words, so the filter loses nothing.
    assert (result.loss.judged, result.loss.relevant) == (batch.numbers["fillers"], 0)
    assert result.omissions is not None
    for omission in result.omissions:
        assert omission.score_without <= omission.score + 1e-9 or omission.relevant == 0
    assert {omission.run for omission in result.omissions} == set(pooled_runs)


def test_a_batch_deeper_than_pages_offer_is_told_of_by_its_whole_pool(
    pooled_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(planned(pooled_runs), "first")
    Batch.objects.update(depth=WIDEST + 50, numbers={**Batch.objects.get().numbers, "known": 1})
    widths = []

    def noting(*arguments: Any, width: int = WIDEST, **also: Any) -> PooledRuns:
        widths.append(width)
        return pooled(*arguments, width=width, **also)

    monkeypatch.setattr("evaluation.services.batches.state.pooled", noting)
    batch_state("first")
    assert widths == [WIDEST + 50]
