"""`benchmarks.machines` once more, through the queue: leases, double checks and the machine's turns.

    [DATABASE_URL=...] python -m benchmarks.machines_queue --proposer FOLDER [--images N] [--seeds N]
        [--arms b,b+savings,bad]

The same generated scenes, crowd and figures; each arm of each seed is a campaign of its own, answered by
`simulate_crowd --through queue`, without control items and misconduct. A machine's boxes come as from a file,
and it is turned on by the campaign's settings (`machine.share` 1). Without DATABASE_URL the rows are in a
SQLite that is gone afterwards.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.link_chances import learn_chances
from annotation.protocol.machines import Proposals
from annotation.protocol.scores import compare_layers
from annotation.simulation.economy import ALL_SAVINGS, saving_arms
from annotation.simulation.machine_study import (
    PEOPLE_ALONE,
    STUDY_MIX,
    StudiedArm,
    StudiedImage,
    proposals_anywhere,
)
from annotation.simulation.visits import ORDERLY
from benchmarks.machines import TAUGHT, Shown, load_kinds, proposed, scene, show
from benchmarks.scene_campaigns import SCENES, imported_scenes, open_scene_campaign
from models_core.estimators.neural.proposer.box_proposer import BoxProposer

if TYPE_CHECKING:
    from annotation.models import Campaign, Corpus

#: A machine's boxes in the campaign of a seed, and whether the savings are on.
Arm = tuple[Callable[[int], Mapping[str, Proposals]], bool]


def run(shown: Sequence[Shown], arms: Mapping[str, Arm], seeds: int) -> None:
    """Run people alone and the arms, and print the table; Django is set up and its database migrated."""
    corpus = imported_scenes(len(shown), source="benchmarks.machines_queue")
    chances = learn_chances(scene(n, TAUGHT, 1)[0][2] for n in range(600))
    found = []
    for name, (boxes_of, savings) in {PEOPLE_ALONE: (lambda seed: {}, False), **arms}.items():
        protocol = saving_arms(chances)[ALL_SAVINGS] if savings else None
        arm = StudiedArm(name, [StudiedImage() for _ in shown])
        for seed in range(seeds):
            settings = settings_of({"trust": {"qualification": False, "control_share": 0.0}})
            if protocol is not None:
                settings = replace(settings, protocol=protocol)
            boxes = boxes_of(seed)
            if boxes:
                settings = replace(settings, machine=replace(settings.machine, share=1.0))
            _campaign_run(
                corpus, f"{name.split(':')[0].replace(' ', '-')}-{seed}", seed, settings, boxes, arm
            )
        found.append(arm)
    show(found[0], found[1:], len(shown))


def _campaign_run(
    corpus: Corpus,
    name: str,
    seed: int,
    settings: CampaignSettings,
    boxes: Mapping[str, Proposals],
    arm: StudiedArm,
) -> None:
    """Answer one campaign by the crowd, and add what it cost and came to."""
    from annotation.campaigns import machines
    from annotation.queue import machine_turns, submission
    from annotation.simulation_driver import CrowdPlan, run_campaign_crowd

    campaign = open_scene_campaign(corpus, name, seed=seed, settings=settings)
    machine = machines.machine_add(campaign=campaign, name="drawer") if boxes else None
    if machine is not None:
        machines.store_proposals(machine, boxes.items(), version=machine.version + 1)
        machines.machine_learnt(machine, images=None, source="file of the benchmark", from_file=True)
        machine_turns.take_turns(campaign, submission.submit)
    done = run_campaign_crowd(
        campaign=campaign, plan=CrowdPlan(mix=STUDY_MIX, seed=seed, conduct=ORDERLY, patience=0.0)
    )
    assert not any(done.violations.values()), done.violations
    _count(campaign, arm)
    if machine is not None:
        _count_machine(campaign, arm)
    print(f"{name}: {done.tally.answered.total()} answers in {done.seconds:.0f} s", flush=True)


def _count(campaign: Campaign, arm: StudiedArm) -> None:
    """Add what people's answers on each image were, and how good its layer is."""
    from django.db.models import Count

    from annotation.models import Layer, Ruling, Worker
    from annotation.selectors.records import stream_records

    keys = campaign.corpus.images.order_by("position").values_list("key", flat=True)
    place = {key: number for number, key in enumerate(keys)}
    for image in arm.images:
        image.runs += 1
    people = campaign.judgments.filter(image__isnull=False, void=False).exclude(worker__kind=Worker.MACHINE)
    for key, kind, number in people.values_list("image__image__key", "kind").annotate(n=Count("pk")):
        arm.images[place[key]].judgments[kind] += number
    ruled = Ruling.objects.filter(image__campaign=campaign, withdrawn_at=None)
    for key in ruled.values_list("image__image__key", flat=True):
        arm.images[place[key]].rulings += 1
    corpus = campaign.corpus
    gold = stream_records(corpus=corpus, layer=corpus.layers.get(name="import"))
    made = stream_records(corpus=corpus, layer=Layer.objects.get(corpus=corpus, name=campaign.name))
    for one, two in zip(made, gold, strict=True):
        if one.layer is not None and two.layer is not None:
            arm.images[place[one.id]].scores.add(compare_layers(one.layer, two.layer))


def _count_machine(campaign: Campaign, arm: StudiedArm) -> None:
    """Add how many boxes the machine drew, how many were accepted, and after how many it was suspended."""
    from annotation.protocol.trust import SUSPENDED
    from annotation.selectors.machines import machine_reports

    (row,) = machine_reports(campaign)
    arm.drawn.append(row.judged + row.waiting)
    arm.good.append(row.good)
    arm.suspended.append(arm.drawn[-1] if row.state == SUSPENDED else None)


def main() -> None:
    """Read the arguments, set up a database, and run."""
    parser = argparse.ArgumentParser(description="What a machine saves a campaign, through the queue")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--proposer", type=Path, required=True, help="A stored proposer")
    parser.add_argument("--arms", default="b,b+savings,bad")
    given = parser.parse_args()
    load_kinds()
    stored = BoxProposer.load(given.proposer)
    shown = [scene(n, SCENES, stored.settings.side) for n in range(given.images)]
    boxes = proposed(stored, shown)
    images = [gold for gold, _ in shown]
    arms: dict[str, tuple[str, Arm]] = {
        "b": ("b: taught before", (lambda seed: boxes, False)),
        "b+savings": (f"b+savings: {ALL_SAVINGS}", (lambda seed: boxes, True)),
        "bad": ("bad: random boxes", (lambda seed: proposals_anywhere(images, seed), False)),
    }
    with tempfile.TemporaryDirectory(prefix="phrasebox-machines-queue-") as folder:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ["DATA_DIR"] = folder
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        run(shown, dict(arms[name] for name in given.arms.split(",")), given.seeds)


if __name__ == "__main__":
    main()
