"""`studies.model_annotators` once more, through the queue: leases, double checks and the model annotator's
turns.

    python -m studies.model_annotators_queue [--proposer FOLDER] [--images N] [--seeds N]
        [--arms printed,savings,a,a+savings,b,b+savings,bad] [--scenes SEED] [--at-once N] [--from-images N]
        [--retrain-each N] [--least-chance P] [--bar P] [--tries N] [--device DEVICE] [--processes N]
        [--keep FOLDER]

The same generated scenes, crowd and figures; each arm of each seed is a campaign of its own, answered by
`simulate_crowd --through queue`, without control items and misconduct. A model annotator is turned on by the
campaign's settings (`model_annotator.share` 1). In the arms *a* it begins with nothing and learns as the
service trains it, from what is finished by then (`model_annotator.from_images`,
`model_annotator.retrain_every`), and at most `--at-once` unfinished images are asked about
(`model_annotator.images_at_once`); in the others all are opened at once, and its boxes come as from a file.
*printed* is people alone again, asked about links in the printed order, and *savings* people alone with fewer
questions. Training runs (on `--device`) take no time here, nor do reviewers' rulings: people's seconds are
those of their answers. The chances of links are learned from 600 other scenes. Each campaign is in a SQLite
of its own that is gone afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.coreference import AS_PRINTED
from annotation.protocol.link_chances import LinkChances, learn_chances
from annotation.protocol.model_annotators import ModelAnnotatorSettings, Proposals
from annotation.protocol.scores import compare_layers
from annotation.protocol.state import ImageSettings
from annotation.simulation.economy import ALL_SAVINGS, saving_arms
from annotation.simulation.model_study import (
    PEOPLE_ALONE,
    STUDY_MIX,
    StudiedArm,
    StudiedImage,
    proposals_anywhere,
)
from annotation.simulation.visits import ORDERLY
from models_core.estimators.neural.proposer.box_proposer import BoxProposer
from phrasebox.device import CPU
from studies.model_annotators import TRAINED, load_kinds, proposed, scene, show
from studies.scene_campaigns import SCENES, imported_scenes, open_scene_campaign

if TYPE_CHECKING:
    from annotation.models import Campaign

_SOURCE = "studies.model_annotators_queue"
_TITLES = {
    "printed": "people alone, printed order",
    "savings": f"people alone: {ALL_SAVINGS}",
    "a": "a: from nothing",
    "a+savings": f"a+savings: {ALL_SAVINGS}",
    "b": "b: trained before",
    "b+savings": f"b+savings: {ALL_SAVINGS}",
    "bad": "bad: random boxes",
}
#: Arms whose model annotator learns from the campaign itself, and those whose model annotator was trained
#: before.
_LEARNING, _TRAINED_BEFORE = frozenset(("a", "a+savings")), frozenset(("b", "b+savings"))


@dataclass(frozen=True, slots=True)
class CampaignRun:
    """A campaign to answer: the arm's title, the seeds of its crowd and `scenes`, the number of images, and
    its model annotator's boxes (none: no model annotator, unless it `learns`) and settings. The folder
    `template` has the imported scenes; the result of this seed is stored in `folder`. A model annotator
    learns on `device`."""

    name: str
    title: str
    seed: int
    scenes: int
    images: int
    protocol: ImageSettings | None
    boxes: Mapping[str, Proposals]
    learns: bool
    model_annotator: ModelAnnotatorSettings
    template: Path
    folder: Path
    device: str = CPU

    @property
    def stored_file(self) -> Path:
        """The file of this arm and seed, which also depends on settings, boxes and the training device."""
        settings = _settings_of(self).as_dict()
        if not (self.boxes or self.learns):
            del settings["model_annotator"]
        about = json.dumps(
            [self.scenes, self.images, settings, sorted(self.boxes.items()), self.learns and self.device],
            default=repr,
        )
        digest = sha256(about.encode()).hexdigest()[:8]
        return self.folder / f"{self.name.replace(' ', '-')}-{self.seed}-{digest}.pickle"


def answered(run: CampaignRun) -> StudiedArm:
    """Answer one campaign by the crowd, in a copy of the database; return its cost and results."""
    with tempfile.TemporaryDirectory(prefix="phrasebox-model_annotators-queue-") as folder:
        shutil.copytree(run.template, folder, dirs_exist_ok=True)
        _set_up(Path(folder))
        arm = _answered(run)
    # Complete or absent: stored results are not computed again.
    part = run.stored_file.with_suffix(".part")
    part.write_bytes(pickle.dumps(arm))
    part.rename(run.stored_file)
    return arm


def _set_up(folder: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.pop("DATABASE_URL", None)
    os.environ["DATA_DIR"] = str(folder)
    import django

    django.setup()
    load_kinds()


def _scenes_imported(folder: Path, images: int, seed: int) -> None:
    """Create a database with the scenes as a corpus, in a process of its own."""
    _set_up(folder)
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    imported_scenes(images, source=_SOURCE, pictures=folder / "scenes", seed=seed)


def _answered(run: CampaignRun) -> StudiedArm:
    from annotation.campaigns import model_annotators
    from annotation.models import Corpus, OpenImage
    from annotation.queue import model_answers, submission
    from annotation.simulation_driver import CrowdPlan, run_campaign_crowd

    settings = _settings_of(run)
    arm = StudiedArm(run.title, [[StudiedImage() for _ in range(run.images)]])
    corpus = Corpus.objects.get(name="scenes")
    campaign = open_scene_campaign(corpus, f"seed-{run.seed}", seed=run.seed, settings=settings)
    model_annotator = (
        model_annotators.model_annotator_add(campaign=campaign, name="drawer")
        if run.boxes or run.learns
        else None
    )
    if model_annotator is not None and run.boxes:
        model_annotators.store_proposals(
            model_annotator, run.boxes.items(), version=model_annotator.version + 1
        )
        model_annotators.record_training(
            model_annotator, images=None, source="file of the benchmark", external=True, adds=True
        )
        model_answers.answer_waiting_images(campaign, submission.submit)
    train = partial(_train, run.device)
    plan = CrowdPlan(mix=STUDY_MIX, seed=run.seed, conduct=ORDERLY, patience=0.0, train=train)
    done = run_campaign_crowd(campaign=campaign, plan=plan)
    assert not any(done.violations.values()), done.violations
    # No lease expired while a model annotator was trained.
    assert not done.tally.gone, done.tally
    assert OpenImage.objects.filter(campaign=campaign, complete=True).count() == run.images
    _count(campaign, arm)
    if model_annotator is not None:
        _count_model(campaign, arm)
    print(
        f"{run.title}, seed {run.seed}: {done.tally.answered.total()} answers in {done.seconds:.0f} s",
        flush=True,
    )
    return arm


def _train(device: str) -> None:
    """Train the model annotators that are due, and let them propose for images opened since, like the jobs of
    the periodic work."""
    from evaluation.services.model_annotators import training

    for campaign, name in training.model_annotators_to_train():
        began, wall = time.process_time(), time.monotonic()
        trained = training.train_model_annotator(
            campaign=campaign.name, model_annotator=name, replaces_file=False, device=device
        )
        seconds, wall = time.process_time() - began, time.monotonic() - wall
        print(
            f"  {campaign.name}: learned from {trained.source} in {wall:.0f} s, {seconds:.0f} s of CPU",
            flush=True,
        )
    for campaign, name in training.model_annotators_to_propose():
        training.propose_boxes(campaign=campaign.name, model_annotator=name)


def _settings_of(run: CampaignRun) -> CampaignSettings:
    settings = settings_of({"trust": {"qualification": False, "control_share": 0.0}})
    if run.protocol is not None:
        settings = replace(settings, protocol=run.protocol)
    if run.boxes or run.learns:
        settings = replace(settings, model_annotator=run.model_annotator)
    return settings


def _count(campaign: Campaign, arm: StudiedArm) -> None:
    """Add people's answers on each image, and the quality of its layer."""
    from django.db.models import Count

    from annotation.models import Layer, Ruling, Worker
    from annotation.selectors.records import stream_records

    keys = campaign.corpus.images.order_by("position").values_list("key", flat=True)
    numbers = {key: number for number, key in enumerate(keys)}
    (images,) = arm.seeds
    for image in images:
        image.runs += 1
    people = campaign.judgments.filter(image__isnull=False, withdrawn=False).exclude(
        worker__kind=Worker.MODEL
    )
    for key, kind, number in people.values_list("image__image__key", "kind").annotate(n=Count("pk")):
        images[numbers[key]].judgments[kind] += number
    ruled = Ruling.objects.filter(image__campaign=campaign, withdrawn_at=None)
    for key in ruled.values_list("image__image__key", flat=True):
        images[numbers[key]].rulings += 1
    corpus = campaign.corpus
    gold = stream_records(corpus=corpus, layer=corpus.layers.get(name="import"))
    records = stream_records(corpus=corpus, layer=Layer.objects.get(corpus=corpus, name=campaign.name))
    for record, two in zip(records, gold, strict=True):
        if record.layer is not None and two.layer is not None:
            images[numbers[record.id]].scores.add(compare_layers(record.layer, two.layer))


def _count_model(campaign: Campaign, arm: StudiedArm) -> None:
    """Add how many boxes the model annotator drew, how many were accepted, and after how many it was
    suspended."""
    from annotation.protocol.trust import SUSPENDED
    from annotation.selectors.model_annotators.reports import model_annotator_reports

    (row,) = model_annotator_reports(campaign)
    arm.drawn.append(row.judged + row.waiting)
    arm.good.append(row.good)
    arm.suspended.append(arm.drawn[-1] if row.state == SUSPENDED else None)


def _protocol_of(arm: str, chances: LinkChances) -> ImageSettings | None:
    if arm == "printed":
        return ImageSettings(order=AS_PRINTED)
    return saving_arms(chances)[ALL_SAVINGS] if arm.endswith("savings") else None


def main() -> None:
    """Parse the arguments, run the campaigns, and print the table."""
    parser = argparse.ArgumentParser(description="What a model annotator saves a campaign, through the queue")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scenes", type=int, default=SCENES, help="Seed of the scenes")
    parser.add_argument(
        "--at-once",
        type=int,
        default=40,
        help="Unfinished images that are asked about at once in the arms a; 0: all",
    )
    parser.add_argument("--proposer", type=Path, help="A stored proposer, for the arms b")
    parser.add_argument("--arms", default=",".join(_TITLES))
    usual = ModelAnnotatorSettings(share=1.0)
    parser.add_argument(
        "--from-images", type=int, default=usual.from_images, help="Finished images of the first training run"
    )
    parser.add_argument(
        "--retrain-each",
        type=int,
        default=usual.retrain_every,
        help="Further ones of each further training run",
    )
    parser.add_argument("--least-chance", type=float, default=usual.least_chance)
    parser.add_argument("--bar", type=float, default=usual.bar)
    parser.add_argument(
        "--tries",
        type=int,
        default=usual.tries,
        help="Boxes in a row that a model annotator proposes for a chain",
    )
    parser.add_argument("--device", default=CPU, help="Where the model annotators of the arms a learn")
    parser.add_argument("--processes", type=int, default=1, help="Campaigns that are answered side by side")
    parser.add_argument(
        "--keep",
        type=Path,
        help="Keep each campaign's figures here; those of the same settings are not run again",
    )
    options = parser.parse_args()
    load_kinds()
    names = options.arms.split(",")
    if options.proposer is None and not _TRAINED_BEFORE.isdisjoint(names):
        parser.error("--proposer FOLDER names the stored proposer of the arms b and b+savings")
    stored = BoxProposer.load(options.proposer) if options.proposer else None
    scenes = [
        scene(n, options.scenes, (stored or BoxProposer()).settings.side) for n in range(options.images)
    ]
    images = [gold for gold, _ in scenes]
    boxes = proposed(stored, scenes) if stored else {}
    chances = learn_chances(scene(n, TRAINED, 1)[0][2] for n in range(600))
    known = replace(usual, least_chance=options.least_chance, bar=options.bar, tries=options.tries)
    learning = replace(
        known,
        images_at_once=options.at_once,
        from_images=options.from_images,
        retrain_every=options.retrain_every,
    )
    arms = [(PEOPLE_ALONE, PEOPLE_ALONE), *((name, _TITLES[name]) for name in names)]

    def boxes_of(arm: str, seed: int) -> Mapping[str, Proposals]:
        if arm == "bad":
            return proposals_anywhere(images, seed)
        return boxes if arm in _TRAINED_BEFORE else {}

    with tempfile.TemporaryDirectory(prefix="phrasebox-model_annotators-queue-") as folder:
        results_folder, template = options.keep or Path(folder) / "kept", Path(folder) / "template"
        results_folder.mkdir(parents=True, exist_ok=True)
        template.mkdir()
        runs = [
            CampaignRun(
                name,
                title,
                seed,
                options.scenes,
                options.images,
                _protocol_of(name, chances),
                boxes_of(name, seed),
                name in _LEARNING,
                learning if name in _LEARNING else known,
                template,
                results_folder,
                options.device,
            )
            for seed in range(options.seeds)
            for name, title in arms
        ]
        # Those with training take longest, so they come first.
        missing = sorted(
            (run for run in runs if not run.stored_file.exists()), key=lambda run: not run.learns
        )
        # Each in a process of its own: Django is set up for one database.
        with get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
            pool.apply(_scenes_imported, [template, options.images, options.scenes])
            for _ in pool.imap_unordered(answered, missing, chunksize=1):
                pass
        studied_arms: dict[str, StudiedArm] = {}
        for run in runs:
            arm = pickle.loads(run.stored_file.read_bytes())
            if run.title in studied_arms:
                studied_arms[run.title].add(arm)
            else:
                studied_arms[run.title] = arm
    people, *others = studied_arms.values()
    show(people, others, options.images)
    printed = studied_arms.get(_TITLES["printed"])
    if printed is not None:
        print("\nThe same against people alone in the printed order:")
        show(printed, [arm for arm in others if arm is not printed], options.images)


if __name__ == "__main__":
    main()
