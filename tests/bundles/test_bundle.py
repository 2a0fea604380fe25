"""A campaign as a bundle: its own script can replay it, and nobody can be identified in it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation import campaigns
from annotation.datasets.bundles import check
from annotation.datasets.bundles.writing import BUNDLE_TABLES, write_bundle
from annotation.datasets.exporting import export_dataset
from annotation.models import Campaign, Control, Judgment, OpenImage, Worker
from annotation.moderation import control_items, rulings, worker_status
from annotation.protocol.questions import QUESTIONS
from annotation.protocol.rulings import Closure, KeepApart
from annotation.protocol.state import LINKING
from annotation.queue.image_state import state_of
from annotation.simulation.driver import rulings_of
from annotation.simulation_driver import CrowdPlan, run_campaign_crowd
from annotation.workers import pseudonyms
from tests.bundles.test_check import flips
from tests.factories import a_corpus, some_images
from tests.queue.models_at_work import WITH_MODEL, a_model, turns
from tests.queue.world import World
from tests.rehearsal.play import Play
from tests.rehearsal.script import Script, pictured
from tests.sizes import by_default

pytestmark = pytest.mark.django_db

Rows = list[dict[str, Any]]


def rows_of(folder: Path, name: str) -> Rows:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def checked(folder: Path) -> list[str]:
    """Return the result of the bundle's own script, in a process without this project's code."""
    run = [sys.executable, "-I", str(folder / "check.py")]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd="/")
    assert done.stderr == "" and done.returncode == (0 if ": 0 contradictions" in done.stdout else 1)
    return done.stdout.splitlines()


class Eventful(Play):
    """A campaign with withdrawals, rulings in force and withdrawn, reports, merges, and a model."""

    def __init__(self, images: int) -> None:
        records = [*some_images(2), *(pictured(number) for number in range(images - 2))]
        super().__init__(records, Script(seed=5, flagged=12), {**WITH_MODEL, "link_votes": 3})
        a_model(self.world, bad=1)
        with self.time():
            self.answer_for(40 * images)
            worker_status.withdraw_worker_answers(campaign=self.campaign, worker=self.people[0])
            self.rule()
            while self.answer_for(10**6) or self.review():
                pass
            campaigns.close_campaign(campaign=self.campaign)

    def answer_for(self, most: int) -> int:
        """Let people and the model annotator answer in turn, up to `most` answers; return their number."""
        answered = 0
        while answered < most:
            turns(self.world)
            before = answered
            for worker in range(9):
                answered += self.answer(worker, answered) is not None
            if answered == before:
                break
        return answered

    def rule(self) -> None:
        first, second = OpenImage.objects.filter(campaign=self.campaign).order_by("position")[:2]
        chain = next(tuple(c["m"]) for c in first.state["chains"] if c["s"] != LINKING)
        taken_back = rulings.make_ruling(image=first.pk, ruling=Closure(chain, "excluded"))
        rulings.withdraw_ruling(campaign=self.campaign, ruling=taken_back.ruling.pk)
        rulings.make_ruling(image=first.pk, ruling=Closure(chain, "scene"))
        apart = [chain["m"][0] for chain in second.state["chains"][:2]]
        rulings.make_ruling(image=second.pk, ruling=KeepApart(*apart))

    def review(self) -> int:
        """Let a reviewer who knows the truth decide everything in review; return the number of rulings."""
        reviewed = 0
        for row in OpenImage.objects.filter(campaign=self.campaign, complete=False):
            while needed := rulings_of(state_of(row), self.world.truths[row.image_id]):
                # One at a time: its effects may require other ones.
                rulings.make_ruling(image=row.pk, ruling=needed[0])
                reviewed += 1
        return reviewed


def test_the_script_follows_a_campaign_of_everything_to_its_dataset(tmp_path: Path) -> None:
    play = Eventful(3)
    campaign = play.campaign
    pseudonyms.erase_worker(worker=Worker.objects.get(pk=play.people[3]))
    out = tmp_path / "bundle"
    call_command("export_bundle", campaign.name, "--out", str(out), stdout=StringIO())
    assert checked(out)[-1].endswith(": 0 contradictions")
    assert {file.name for file in out.iterdir()} >= {f"{name}.jsonl" for name in BUNDLE_TABLES}
    _is_as_exported(campaign, out, tmp_path)
    answers = rows_of(out, "answers")
    _nobody_is_found(campaign, out, answers)
    # The bundle contains all events.
    assert {row["by"] for row in answers} == {"person", "model"}
    assert any(row["withdrawn"] for row in answers) and rows_of(out, "proposals")
    assert {row["withdrawn"] for row in rows_of(out, "rulings")} == {True, False}
    assert any(row["worker"] == "erased-1" for row in answers)
    # One byte is enough.
    with (out / "answers.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert [*check.checksum_problems(out)] == ["answers.jsonl: its checksum is not the one in SHA256SUMS"]


def _is_as_exported(campaign: Campaign, out: Path, folder: Path) -> None:
    """Check that the dataset of the bundle is the export of the campaign's layer."""
    export_dataset(
        corpus=campaign.corpus.name,
        layer=campaign.name,
        format="jsonl",
        out=folder / "export",
        only_finished=True,
    )
    assert rows_of(out, "corpus") == rows_of(folder / "export", "corpus")
    assert len(rows_of(out, "corpus")) == sum(row["complete"] for row in rows_of(out, "images")) > 0


def _nobody_is_found(campaign: Campaign, out: Path, answers: Rows) -> None:
    """Check that there are no pseudonyms, ids derived from them, or times of day; and that ids and keys are
    consistent."""
    judgments = Judgment.objects.filter(campaign=campaign)
    secrets = set(Worker.objects.filter(kind=Worker.PERSON).values_list("pseudonym", flat=True))
    secrets |= set(judgments.values_list("name", flat=True))
    for file in out.iterdir():
        words = set(re.findall(r"[\w-]+", file.read_text(encoding="utf-8")))
        assert not secrets & words, file.name
    assert {len(row["at"]) for row in answers} == {10}
    ids = {row["id"]: row for row in answers}
    assert len(ids) == len(answers) == judgments.filter(image__isnull=False).count()
    for row in answers:
        if row["kind"] == "box_quality":
            assert ids[int(row["key"].split("|")[1])]["answer"] == "drawn"


def test_two_bundles_of_a_campaign_call_people_differently(tmp_path: Path) -> None:
    world = World(some_images(1))
    world.work(QUESTIONS)
    for number in (1, 2, 3, 4):
        write_bundle(campaign=world.campaign, out=tmp_path / str(number))
    named = [[row["worker"] for row in rows_of(tmp_path / str(n), "answers")] for n in (1, 2, 3, 4)]
    assert len({tuple(names) for names in named}) > 1
    assert {name for names in named for name in names} <= {f"worker-{n}" for n in range(1, 5)}


@pytest.mark.parametrize("tasks", by_default(1, ["relevance", "graded", "captions", "regions"]))
def test_questions_that_are_only_counted_are_followed_too(tmp_path: Path, tasks: str) -> None:
    a_corpus("quay", some_images(2))
    plan = campaigns.CampaignPlan(
        name="work", corpus="quay", tasks=tasks, settings={"trust": {"qualification": False}}
    )
    campaign = campaigns.open_campaign(plan)
    run_campaign_crowd(campaign=campaign, plan=CrowdPlan(mix={"sloppy": 10}, seed=1, patience=0))
    write_bundle(campaign=campaign, out=tmp_path / "bundle", simulated=True)
    assert checked(tmp_path / "bundle")[-1].endswith(": 0 contradictions")
    outcomes = rows_of(tmp_path / "bundle", "outcomes")
    assert {row["outcome"] for row in outcomes} == {"ANSWERED"}
    datasheet = (tmp_path / "bundle" / "README.md").read_text(encoding="utf-8")
    assert f"({tasks}) asked the questions below" in datasheet


def test_control_items_are_in_it_once_no_open_campaign_uses_them(tmp_path: Path) -> None:
    world = World(some_images(3), settings={"trust": {"qualification": False}})
    layer = world.corpus.layers.get(name="import")
    control_items.from_gold(campaign=world.campaign, layer=layer)
    write_bundle(campaign=world.campaign, out=tmp_path / "open")
    assert rows_of(tmp_path / "open", "controls") == rows_of(tmp_path / "open", "control_answers") == []
    campaigns.close_campaign(campaign=world.campaign)
    write_bundle(campaign=world.campaign, out=tmp_path / "closed")
    items = rows_of(tmp_path / "closed", "controls")
    assert len(items) == Control.objects.filter(campaign=world.campaign).count() > 0
    open_campaign = Campaign.objects.create(
        name="other", corpus=world.corpus, tasks="entities", settings=world.campaign.settings
    )
    control_items.from_gold(campaign=open_campaign, layer=layer, images=1)
    write_bundle(campaign=world.campaign, out=tmp_path / "used")
    used = set(Control.objects.filter(campaign=open_campaign).values_list("image__key", "kind"))
    left = {(row["image"], row["kind"]) for row in rows_of(tmp_path / "used", "controls")}
    assert used and left and not used & left
    assert left == {(row["image"], row["kind"]) for row in items} - used


def test_simulated_answers_go_out_only_where_that_is_said(tmp_path: Path) -> None:
    world = World(some_images(1))
    Campaign.objects.filter(pk=world.campaign.pk).update(simulated=True)
    with pytest.raises(CommandError, match="simulated: no person gave them"):
        call_command("export_bundle", world.campaign.name, "--out", str(tmp_path / "b"), stdout=StringIO())
    assert not (tmp_path / "b").exists()


def test_the_script_is_short_and_needs_nothing_of_ours() -> None:
    source = Path(check.__file__).read_text(encoding="utf-8")
    assert source.count("\n") < 500
    imported = set(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
    assert imported <= sys.stdlib_module_names


@pytest.mark.slow
def test_three_hundred_images_and_five_hundred_changes(tmp_path: Path) -> None:
    """Of answers on which an outcome rests each change is named; every change shows in the checksums."""
    campaign = Eventful(300).campaign
    out = tmp_path / "bundle"
    write_bundle(campaign=campaign, out=out)
    assert checked(out)[-1].endswith(": 0 contradictions")
    _is_as_exported(campaign, out, tmp_path)
    sums = dict(line.split("  ")[::-1] for line in (out / "SHA256SUMS").read_text().splitlines())
    lines = (out / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    lines_by_id = {json.loads(line)["id"]: number for number, line in enumerate(lines)}
    images = list(check.images_of(out))
    random = Random(7)
    named = 0
    for image, rows, settings, record in random.choices([i for i in images if i[1]["answers"]], k=500):
        resting = {number for outcome in rows["outcomes"] for number, _ in outcome["votes"]}
        for answer, changed in flips(rows, random, 1):
            answers = [changed if row is answer else row for row in rows["answers"]]
            problems = check.image_problems(image, {**rows, "answers": answers}, settings, record)
            if answer["id"] in resting:
                assert any(re.search(rf"answers? [\d, ]*\b{answer['id']}\b", line) for line in problems)
                named += 1
            text = [
                *lines[: lines_by_id[answer["id"]]],
                json.dumps(changed),
                *lines[lines_by_id[answer["id"]] + 1 :],
            ]
            digest = hashlib.sha256("".join(f"{line}\n" for line in text).encode()).hexdigest()
            assert digest != sums["answers.jsonl"]
    assert named > 250
