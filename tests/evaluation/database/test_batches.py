"""Batches: from runs to questions, their cost, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from django.core.management import CommandError

from annotation.common.operations import OperationContext
from annotation.models import Assignment, Campaign, Task
from annotation.protocol.paging import PAGE_ROLES
from evaluation.models import Batch
from evaluation.selectors import run_named
from evaluation.services.batches.collecting import collect
from evaluation.services.batches.launching import launch
from evaluation.services.batches.state import batch_state
from evaluation.services.batches.stored_answers import BatchError
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from tests.evaluation.database.conftest import output_of
from tests.evaluation.database.pooled_world import (
    JUDGED,
    UNTESTED,
    crowd,
    pairs_on_pages,
    planned,
    scene,
)

#: The role of a caption that fills up a page, as stored in pages.
FILLER = PAGE_ROLES.index("filler")

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_plan_counts_what_is_pooled_and_writes_nothing(pooled_runs: list[str]) -> None:
    plan = planned(pooled_runs)
    numbers = plan.numbers()
    left = numbers.pooled - numbers.originals - numbers.filtered
    assert left == numbers.selected == len(plan.selected) > 0
    assert numbers.filtered == len(plan.fillers) > 0 == numbers.known
    assert numbers.judgments == 3 * numbers.selected
    assert [part.pairs for part in numbers.runs] == [JUDGED * 4] * 4
    assert numbers.runs[0].unjudged == len(
        [
            p
            for p in plan.pooled.called(plan.pooled.shortlists[0].pairs(plan.pooled.space, 4))
            if not is_original(p)
        ]
    )
    assert not Campaign.objects.exists() and not Batch.objects.exists()


def is_original(pair: tuple[str, str]) -> bool:
    return pair[1].startswith(f"{pair[0]}#")


def test_the_filter_is_by_shared_words_and_can_be_left_out(pooled_runs: list[str]) -> None:
    filtered, whole = planned(pooled_runs), planned(pooled_runs, threshold=0)
    assert set(filtered.selected) < set(whole.selected)
    assert len(whole.selected) - len(filtered.selected) == filtered.filtered
    requested, excluded = filtered.pooled.called(filtered.selected), filtered.pooled.called(filtered.fillers)

    def shares(image: str, caption: str) -> bool:
        return (scene(caption.partition("#")[0]) - scene(image)) % 7 < 5

    assert all(shares(*pair) for pair in requested) and not any(shares(*pair) for pair in excluded)


def test_launching_opens_pages_of_the_plan_and_keeps_what_it_was_made_from(pooled_runs: list[str]) -> None:
    plan = planned(pooled_runs)
    done = launch(plan, "first", known_from="dev")
    pages = pairs_on_pages()
    assert len(pages["wanted"]) == len(plan.selected)
    assert len(pages["filler"]) == done.batch.numbers["fillers"] == plan.filling.fillers
    assert Task.objects.count() == plan.price.tasks == done.batch.numbers["task_count"]
    batch = Batch.objects.get()
    assert (batch.campaign.state, batch.depth, batch.judges, batch.threshold) == ("open", 4, 3, 0.25)
    assert [row.run.name for row in batch.runs.all()] == pooled_runs
    assert [row.digest for row in batch.runs.all()] == [run_named(name).digest for name in pooled_runs]


def on_pages() -> dict[str, int]:
    """Count the entries of the newest campaign's pages from their items."""
    campaign = Campaign.objects.latest("pk")
    page = campaign.settings["page"]
    room, size = page["images"] - page["controls"], page["captions"]
    result = {"task_count": 0, "fillers": 0, "missing": 0, "blocks": 0, "short_blocks": 0}
    for task in Task.objects.filter(campaign=campaign):
        counts = [len(item.content["captions"]) for item in task.items.all()]
        counts += [0] * (room - len(counts))
        result["task_count"] += 1
        result["fillers"] += sum(item.content["roles"].count(FILLER) for item in task.items.all())
        result["missing"] += sum(size - captions for captions in counts)
        result["blocks"] += room
        result["short_blocks"] += sum(captions < size for captions in counts)
    return result


def test_what_pages_lack_is_told_before_they_are_opened_whatever_the_batch(pooled_runs: list[str]) -> None:
    rng, short = Random(7), 0
    for number in range(12):
        page = {"images": rng.randint(2, 6), "captions": rng.randint(2, 10), "controls": 1}
        plan = planned(
            rng.sample(pooled_runs, rng.randint(1, 4)),
            depth=rng.randint(2, 8),
            threshold=rng.choice([0.15, 0.25, 0.35, 0.5]),
            campaign_settings={**UNTESTED, "page": page},
        )
        batch = launch(plan, f"b{number}", begin=False).batch
        counted = on_pages()
        foretold = plan.numbers()
        assert {key: getattr(foretold, key) for key in counted} == counted
        assert {key: batch.numbers[key] for key in counted} == counted
        seen = batch_state(batch.name).filling
        assert (seen.pages, seen.fillers, seen.missing, seen.blocks, seen.short_blocks) == tuple(
            counted[key] for key in ("task_count", "fillers", "missing", "blocks", "short_blocks")
        )
        short += 0 < counted["fillers"] < plan.filtered and counted["missing"] > 0
    assert short > 2, "pages that lack captions though filtered pairs are left over"


def test_a_batch_without_a_filter_has_nothing_to_fill_up_with_and_says_so(pooled_runs: list[str]) -> None:
    batch = launch(planned(pooled_runs, threshold=0), "bare").batch
    assert batch.numbers["fillers"] == 0 < batch.numbers["missing"]
    output = output_of("batch_status", "bare")
    assert f"pages lack {batch.numbers['missing']} captions" in output
    assert "with a threshold, filtered pairs fill them" in output and "depth" not in output


def test_launched_twice_it_stands_and_another_plan_needs_another_name(pooled_runs: list[str]) -> None:
    launch(planned(pooled_runs), "first")
    again = launch(planned(pooled_runs), "first")
    assert again.unchanged and Batch.objects.count() == Campaign.objects.count() == 1
    with pytest.raises(BatchError, match="another name"):
        launch(planned(pooled_runs[:2]), "first")


def test_what_fails_on_the_way_leaves_nothing(pooled_runs: list[str], monkeypatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr("annotation.campaigns.begin_campaign", fail)
    with pytest.raises(RuntimeError):
        launch(planned(pooled_runs), "first")
    assert not Campaign.objects.exists() and not Batch.objects.exists() and not Task.objects.exists()


def test_control_items_are_not_made_of_images_that_are_asked_about(pooled_runs: list[str]) -> None:
    with pytest.raises(BatchError, match="another"):
        launch(planned(pooled_runs), "first", known_from="test")
    assert not Campaign.objects.exists()


def test_judgments_from_files_are_reused_where_their_scale_fits(
    pooled_runs: list[str], tmp_path: Path
) -> None:
    free = planned(pooled_runs)
    pairs = free.pooled.called(free.selected)[:20]
    file = tmp_path / "CrowdFlowerAnnotations.txt"
    file.write_text(
        "".join(f"{image}.jpg\t{caption.replace('#', '.jpg#')}\t0\t0\t3\n" for image, caption in pairs)
    )
    import_judgments(
        JudgmentsImport(corpus="quay", file=file, format="flickr8k-crowd", name="crowd"), OperationContext()
    )
    plan = planned(pooled_runs)
    assert (plan.reused, plan.known, len(plan.selected)) == (("crowd",), 20, len(free.selected) - 20)
    assert len(planned(pooled_runs, reuse=[]).selected) == len(free.selected)
    batch = launch(plan, "first").batch
    crowd(batch.campaign, {"perfect": 5})
    collected = collect("first")
    assert collected.pairs == 20 + len(plan.selected) + batch.numbers["fillers"]
    assert collected.short == 0
    with pytest.raises(BatchError, match="expected images and captions"):
        planned(pooled_runs, tasks="graded", reuse=["crowd"])


def test_the_price_is_by_the_campaigns_pay_and_by_what_answers_took(pooled_runs: list[str]) -> None:
    paid = {**UNTESTED, "pay": {"basis": "item", "per_item": {"relevance": 0.15}}}
    plan = planned(pooled_runs, campaign_settings=paid, seconds=60)
    assert plan.price.amount == plan.price.tasks * 3 * 150_000
    assert plan.price.seconds == plan.price.tasks * 3 * 60
    by_hour = {**UNTESTED, "pay": {"basis": "hour", "hourly": 12.0}}
    assert (
        planned(pooled_runs, campaign_settings=by_hour, seconds=60).price.amount
        == plan.price.tasks * 3 * 200_000
    )
    assert (planned(pooled_runs).seconds, planned(pooled_runs).measured) == (90, "")
    batch = launch(planned(pooled_runs), "first").batch
    crowd(batch.campaign, {"perfect": 4})
    assert planned(pooled_runs).measured == "", "a simulated crowd answers in no time"
    # From here on as if people had answered.
    Assignment.objects.filter(campaign=batch.campaign).update(seconds=80.0)
    Campaign.objects.filter(pk=batch.campaign_id).update(simulated=False)
    assert (planned(pooled_runs).seconds, planned(pooled_runs).measured) == (80, "first")


def test_the_commands_tell_the_price_open_the_batch_and_collect_it(
    pooled_runs: list[str], tmp_path: Path
) -> None:
    config = tmp_path / "untested.toml"
    config.write_text("[trust]\nqualification = false\n")
    chosen = ["--corpus", "quay", "--depth", 4, "--campaign-settings", config, "--runs", *pooled_runs]
    price = json.loads(output_of("plan_batch", *chosen, "--json"))["numbers"]
    dry = output_of("plan_batch", *chosen)
    assert not Batch.objects.exists() and not Campaign.objects.exists()
    lacking = (
        f"pages lack {price['missing']} captions: too few filtered pairs are of the images asked about; "
        f"{price['short_blocks']} of {price['blocks']} images have fewer than fit"
    )
    assert price["missing"] > 0 and lacking in dry and "a greater depth" in dry
    assert "with a threshold, filtered pairs fill them" in output_of("plan_batch", *chosen, "--threshold", 0)
    # The suggested remedy works.
    config.write_text("[trust]\nqualification = false\n[page]\ncaptions = 3\n")
    assert json.loads(output_of("plan_batch", *chosen, "--json"))["numbers"]["missing"] < price["missing"]
    config.write_text("[trust]\nqualification = false\n")
    opened = json.loads(output_of("open_batch", "first", *chosen, "--json"))
    foretold = ("selected", "task_count", "fillers", "missing", "blocks", "short_blocks")
    assert all(opened["numbers"][key] == price[key] for key in foretold) and opened["state"] == "open"
    again = output_of("open_batch", "first", *chosen)
    assert "already exists" in again and lacking in again
    crowd(Campaign.objects.get(), {"perfect": 5})
    assert "judgments 'first' collected" in output_of("collect_judgments", "first")
    assert json.loads(output_of("collect_judgments", "first", "--json"))["unchanged"]
    text = output_of("batch_status", "first", "--omissions")
    assert lacking in text and "for more fillers, use a greater depth" in text
    assert "0 tasks open" in text and "filter: 0 of" in text and "sharp-search" in text
    assert json.loads(output_of("batch_status", "first", "--json"))["status"]["omissions"] is None


_RUN = ["--corpus", "quay", "--runs", "sharp-search"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["b", *_RUN[:-1], "nobody"], r"--runs \(1\.\): There is no run “nobody” here; known: blunt-annot"),
        (["b", "--corpus", "sea", *_RUN[2:]], "--corpus: There is no corpus “sea” here; known: quay"),
        (["b b", *_RUN], "name: This is no valid name"),
        (["b", *_RUN, "--depth", "0"], "--depth: Expected 1 or more"),
        (["b", *_RUN, "--depth", "many"], "--depth: Expected a whole number"),
        (["b", *_RUN, "--tasks", "boxes"], "--tasks: Expected one of: .*'graded'"),
        (["b", *_RUN, "--threshold", "7"], "--threshold: Expected 1.* or less"),
        (["b", *_RUN, "--judges", "0"], "--judges: Expected 1 or more"),
        (["b", *_RUN, "sharp-search"], "named twice"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    pooled_runs: list[str], arguments: list[str], problem: str
) -> None:
    with pytest.raises(CommandError, match=problem) as error:
        output_of("open_batch", *arguments)
    assert "\n" not in str(error.value)
    assert not Batch.objects.exists()


@pytest.mark.parametrize("command", ["batch_status", "collect_judgments", "reassign_pages", "next_round"])
def test_a_batch_that_is_not_there_is_told_in_one_line(pooled_runs: list[str], command: str) -> None:
    launch(planned(pooled_runs), "first")
    with pytest.raises(CommandError, match="^batch: There is no batch “nobody” here; known: first.$"):
        output_of(command, "nobody")
