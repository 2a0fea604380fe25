"""Batches: from runs to questions, from answers to qrels, and the next batch asks for what is new."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation import discard
from annotation.models import Campaign, Item, Judgment, Standing, Task
from annotation.protocol.paging import ROLES
from annotation.protocol.trust import SUSPENDED
from evaluation.models import Batch, JudgmentSet, QrelsRow
from evaluation.scoring import score
from evaluation.selectors import judgment_set, names_of, pairs_of, run_named, snapshot_named
from evaluation.services.batch_state import state
from evaluation.services.batches import launch
from evaluation.services.collecting import collect
from evaluation.services.judgments import import_judgments
from evaluation.services.planning import Plan, plan
from evaluation.services.qrels import freeze_qrels
from evaluation.services.stored_answers import Answers, BatchRefused
from tests.evaluation.database.conftest import said
from tests.evaluation.database.pooled_world import ASKED, PER_SCENE, UNTESTED, a_world, crowd, runs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pooled_runs(data_dir: Path, tmp_path: Path) -> list[str]:
    a_world()
    return [
        *runs(tmp_path, "sharp", noise=0.3, seed=1),
        *runs(tmp_path, "blunt", noise=1.0, seed=2),
    ]


def planned(names: list[str], **also) -> Plan:
    return plan(**{"corpus": "quay", "runs": names, "depth": 4, "settings": UNTESTED, **also})


def asked_on_pages() -> dict[str, set[tuple[int, int]]]:
    """Role -> the pairs (image, caption's image) that pages hold."""
    found: dict[str, set[tuple[int, int]]] = {}
    for content in Item.objects.values_list("content", flat=True):
        for (owner, place), role in zip(content["captions"], content["roles"], strict=True):
            assert place == 0
            found.setdefault(ROLES[role], set()).add((content["image"], owner))
    return found


def scene(image: str) -> int:
    return int(image.removeprefix("i").partition(".")[0]) // PER_SCENE


def test_a_plan_counts_what_is_pooled_and_writes_nothing(pooled_runs: list[str]) -> None:
    made = planned(pooled_runs)
    numbers = made.numbers()
    left = numbers["pooled"] - numbers["originals"] - numbers["filtered"]
    assert left == numbers["asked"] == len(made.asked) > 0
    assert numbers["filtered"] == len(made.fillers) > 0 == numbers["known"]
    assert numbers["judgments"] == 3 * numbers["asked"]
    assert [part["pairs"] for part in numbers["runs"]] == [ASKED * 4] * 4
    assert numbers["runs"][0]["unjudged"] == len(
        [p for p in made.pooled.called(made.pooled.shortlists[0].pairs(made.pooled.space, 4)) if not own(p)]
    )
    assert not Campaign.objects.exists() and not Batch.objects.exists()


def own(pair: tuple[str, str]) -> bool:
    return pair[1].startswith(f"{pair[0]}#")


def test_the_filter_is_by_shared_words_and_can_be_left_out(pooled_runs: list[str]) -> None:
    filtered, whole = planned(pooled_runs), planned(pooled_runs, threshold=None)
    assert set(filtered.asked) < set(whole.asked)
    assert len(whole.asked) - len(filtered.asked) == filtered.filtered
    asked, dropped = filtered.pooled.called(filtered.asked), filtered.pooled.called(filtered.fillers)

    def shares(image: str, caption: str) -> bool:
        return (scene(caption.partition("#")[0]) - scene(image)) % 7 < 5

    assert all(shares(*pair) for pair in asked) and not any(shares(*pair) for pair in dropped)


def test_launching_opens_pages_of_the_plan_and_keeps_what_it_was_made_from(pooled_runs: list[str]) -> None:
    made = planned(pooled_runs)
    done = launch(made, "first", known_from="dev")
    pages = asked_on_pages()
    assert len(pages["wanted"]) == len(made.asked)
    assert len(pages["filler"]) == done.batch.numbers["fillers"] == made.price.fillers
    assert Task.objects.count() == made.price.tasks == done.batch.numbers["task_count"]
    batch = Batch.objects.get()
    assert (batch.campaign.state, batch.depth, batch.judges, batch.threshold) == ("open", 4, 3, 0.25)
    assert [row.run.name for row in batch.runs.all()] == pooled_runs
    assert [row.digest for row in batch.runs.all()] == [run_named(name).digest for name in pooled_runs]


def test_launched_twice_it_stands_and_another_plan_needs_another_name(pooled_runs: list[str]) -> None:
    launch(planned(pooled_runs), "first")
    again = launch(planned(pooled_runs), "first")
    assert again.unchanged and Batch.objects.count() == Campaign.objects.count() == 1
    with pytest.raises(BatchRefused, match="another name"):
        launch(planned(pooled_runs[:2]), "first")


def test_what_fails_on_the_way_leaves_nothing(pooled_runs: list[str], monkeypatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr("annotation.campaigns.begin", fail)
    with pytest.raises(RuntimeError):
        launch(planned(pooled_runs), "first")
    assert not Campaign.objects.exists() and not Batch.objects.exists() and not Task.objects.exists()


def test_known_items_are_not_made_of_images_that_are_asked_about(pooled_runs: list[str]) -> None:
    with pytest.raises(BatchRefused, match="another"):
        launch(planned(pooled_runs), "first", known_from="test")
    assert not Campaign.objects.exists()


def test_a_full_round_with_bad_judges_and_a_second_batch(pooled_runs: list[str], tmp_path: Path) -> None:
    """Pool, ask, discard, ask again, freeze, score; then one more system: only what is new is asked."""
    first = launch(planned(pooled_runs), "first", known_from="dev").batch
    crowd(first.campaign, {"perfect": 6, "always_yes": 2})
    suspended = Standing.objects.filter(state=SUSPENDED)
    assert suspended and all("always_yes" in row.worker.pseudonym for row in suspended)

    early = collect("first")
    assert set(early.unused) == {row.worker.pseudonym for row in suspended}
    assert early.short > 0
    for row in list(suspended):
        discard.discard(campaign=first.campaign, worker=row.worker_id)
    crowd(first.campaign, {"perfect": 12}, seed=2)
    late = collect("first")
    assert (late.judgments, late.short, late.unchanged) == ("first-2", 0, False)
    assert JudgmentSet.objects.get(name="first").pair_count == early.pairs <= late.pairs

    names = names_of("quay")
    pairs = list(pairs_of(judgment_set("quay", "first-2"), names))
    assert all(len(set(pair.judges)) == len(pair.grades) >= 3 for pair in pairs)
    assert all(
        (pair.mean > 0.5) == (scene(pair.query) == scene(pair.document.partition("#")[0])) for pair in pairs
    )

    frozen = freeze_qrels(name="pooled", corpus="quay", judgments="first-2")
    relevant = QrelsRow.objects.filter(snapshot=snapshot_named("pooled"), relevance=1)
    assert relevant.count() == frozen.relevant > ASKED
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
    second = planned(more)
    assert second.known == first.numbers["asked"]
    before = asked_on_pages()
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
    made = freeze_qrels(name="pooled", corpus="quay", judgments="second")
    assert (made.version, made.rows) == (2, frozen.rows + len(new))
    with pytest.raises(BatchRefused, match="nothing to ask"):
        launch(planned(more), "third")


def test_collected_again_nothing_changes_until_something_is_withdrawn(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    with pytest.raises(BatchRefused, match="nobody"):
        collect("first")
    crowd(batch.campaign, {"perfect": 5})
    first, again = collect("first"), collect("first")
    assert (first.unchanged, again.unchanged) == (False, True)
    assert (again.judgments, again.digest, again.new) == ("first", first.digest, 0)
    assert JudgmentSet.objects.count() == 1
    worker = Judgment.objects.values_list("worker", flat=True)[0]
    discard.discard(campaign=batch.campaign, worker=worker)
    less = collect("first")
    assert less.judgments == "first-2" and less.answers < first.answers and less.short > 0
    discard.restore(campaign=batch.campaign, worker=worker)
    assert collect("first").digest == first.digest


def test_judges_below_the_bar_are_not_used_though_nobody_suspended_them(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    crowd(batch.campaign, {"perfect": 5})
    whole = collect("first")
    standing = Standing.objects.filter(items__gt=0)[0]
    Standing.objects.filter(pk=standing.pk).update(known=10, right=7)
    assert collect("first").unchanged
    Standing.objects.filter(pk=standing.pk).update(known=10, right=6)
    less = collect("first")
    assert less.unused == {standing.worker.pseudonym: "6 of 10 known items right"}
    assert less.answers < whole.answers and less.short > 0


def test_a_judge_counts_once_for_a_pair_and_the_nameless_count_each() -> None:
    found = Answers()
    for judge, value in (("ann", 1), ("ann", 0), (1, 0), (2, 0)):
        found.add((7, 8), judge, value)
    _, _, counts, values = found.arrays()
    assert (counts.tolist(), values) == ([3], [[1, 0, 0]])


def test_a_pair_with_too_few_answers_is_asked_anew(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    crowd(batch.campaign, {"perfect": 5})
    worker = Judgment.objects.values_list("worker", flat=True)[0]
    discard.discard(campaign=batch.campaign, worker=worker)
    short = state("first").short
    again = planned(pooled_runs)
    assert (len(again.asked), again.begun) == (short, short) and short > 0


def test_judgments_from_files_are_reused_where_their_scale_fits(
    pooled_runs: list[str], tmp_path: Path
) -> None:
    free = planned(pooled_runs)
    pairs = free.pooled.called(free.asked)[:20]
    file = tmp_path / "CrowdFlowerAnnotations.txt"
    file.write_text(
        "".join(f"{image}.jpg\t{caption.replace('#', '.jpg#')}\t0\t0\t3\n" for image, caption in pairs)
    )
    import_judgments(corpus="quay", path=file, format="flickr8k-crowd", name="crowd")
    made = planned(pooled_runs)
    assert (made.reused, made.known, len(made.asked)) == (("crowd",), 20, len(free.asked) - 20)
    assert len(planned(pooled_runs, reuse=[]).asked) == len(free.asked)
    batch = launch(made, "first").batch
    crowd(batch.campaign, {"perfect": 5})
    found = collect("first")
    assert found.pairs == 20 + len(made.asked) + batch.numbers["fillers"]
    assert found.short == 0
    with pytest.raises(BatchRefused, match="expected images and captions"):
        planned(pooled_runs, tasks="graded", reuse=["crowd"])


def test_graded_pairs_are_asked_one_by_one_and_their_grades_collected(pooled_runs: list[str]) -> None:
    made = planned(pooled_runs, tasks="graded", depth=1, threshold=None, judges=2)
    batch = launch(made, "grades").batch
    assert Task.objects.count() == len(made.asked) == made.price.tasks
    crowd(batch.campaign, {"perfect": 4})
    done = collect("grades")
    assert (done.pairs, done.answers, done.short) == (len(made.asked), 2 * len(made.asked), 0)
    grades = {
        grade for pair in pairs_of(judgment_set("quay", "grades"), names_of("quay")) for grade in pair.grades
    }
    assert grades == {1, 4}
    left_out = state("grades", omissions=True).left_out
    assert left_out is not None and {one.run for one in left_out} == set(pooled_runs)
    frozen = freeze_qrels(name="graded", corpus="quay", judgments="grades")
    assert frozen.by_rule["mean_grade"] == frozen.relevant > ASKED
    by_run = {name: score(run_named(name), snapshot_named("graded"), ["nDCG@10"]) for name in pooled_runs}
    for direction in ("annotation", "search"):
        values = [by_run[f"{name}-{direction}"].scores["nDCG@10"].value for name in ("sharp", "blunt")]
        assert values[0] > values[1]


def test_the_price_is_by_the_campaigns_pay_and_by_what_answers_took(pooled_runs: list[str]) -> None:
    paid = {**UNTESTED, "pay": {"basis": "item", "per_item": {"relevance": 0.15}}}
    made = planned(pooled_runs, settings=paid, seconds=60)
    assert made.price.amount == made.price.tasks * 3 * 150_000
    assert made.price.seconds == made.price.tasks * 3 * 60
    by_hour = {**UNTESTED, "pay": {"basis": "hour", "hourly": 12.0}}
    assert planned(pooled_runs, settings=by_hour, seconds=60).price.amount == made.price.tasks * 3 * 200_000
    assert (planned(pooled_runs).seconds, planned(pooled_runs).measured) == (90, "")
    batch = launch(planned(pooled_runs), "first").batch
    crowd(batch.campaign, {"perfect": 4})
    assert planned(pooled_runs).measured == "first"


def test_a_state_tells_what_the_filter_and_the_pool_lose(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs), "first").batch
    assert state("first").loss is None
    crowd(batch.campaign, {"perfect": 5})
    found = state("first", omissions=True)
    assert (found.open, found.short, found.judged) == (0, 0, batch.numbers["asked"])
    assert found.loss is not None
    # Captions of a scene share their words, so the filter loses nothing.
    assert (found.loss.judged, found.loss.relevant) == (batch.numbers["fillers"], 0)
    assert found.left_out is not None
    for one in found.left_out:
        assert one.score_without <= one.score + 1e-9 or one.relevant == 0
    assert {one.run for one in found.left_out} == set(pooled_runs)


def test_the_commands_tell_the_price_open_the_batch_and_collect_it(
    pooled_runs: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "untested.toml"
    config.write_text("[trust]\nqualification = false\n")
    arguments = [
        "open_batch",
        "first",
        "--corpus",
        "quay",
        "--depth",
        4,
        "--config",
        config,
        "--runs",
        *pooled_runs,
    ]
    price = json.loads(said(*arguments, "--dry-run", "--json"))
    assert not price["launched"] and not Batch.objects.exists()
    assert "nothing was written" in said(*arguments, "--dry-run")
    opened = json.loads(said(*arguments, "--json"))
    assert opened["asked"] == price["asked"] and opened["state"] == "open"
    assert "stands already" in said(*arguments)
    crowd(Campaign.objects.get(), {"perfect": 5})
    assert "judgments 'first' collected" in said("collect_judgments", "first")
    assert json.loads(said("collect_judgments", "first", "--json"))["unchanged"]
    text = said("batch_status", "first", "--omissions")
    assert "0 tasks open" in text and "filter: 0 of" in text and "sharp-search" in text
    assert json.loads(said("batch_status", "first", "--json"))["left_out"] is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["open_batch", "b", "--corpus", "quay", "--runs", "nobody"], "unknown run 'nobody'"),
        (["open_batch", "b", "--corpus", "sea", "--runs", "sharp-search"], "unknown corpus 'sea'"),
        (["open_batch", "b b", "--corpus", "quay", "--runs", "sharp-search"], "batch name 'b b'"),
        (["open_batch", "b", "--corpus", "quay", "--runs", "sharp-search", "--depth", "0"], "depth 0"),
        (
            ["open_batch", "b", "--corpus", "quay", "--runs", "sharp-search", "--tasks", "boxes"],
            "relevance, graded",
        ),
        (
            ["open_batch", "b", "--corpus", "quay", "--runs", "sharp-search", "--threshold", "7"],
            "threshold 7",
        ),
        (["open_batch", "b", "--corpus", "quay", "--runs", "sharp-search", "--judges", "0"], "setting"),
        (["open_batch", "b", "--corpus", "quay", "--runs", "sharp-search", "sharp-search"], "named twice"),
        (["collect_judgments", "nobody"], "unknown batch 'nobody'"),
        (["batch_status", "nobody"], "unknown batch 'nobody'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    pooled_runs: list[str], arguments: list[str], problem: str
) -> None:
    with pytest.raises(CommandError, match=problem) as error:
        said(*arguments)
    assert "\n" not in str(error.value)
    assert not Batch.objects.exists()
