"""Campaigns with control items: about chains, pages of pairs, graded pairs, tags. Half of the items are
control items.

Questions are about one half of a corpus, control items about the other half: images of the same sort, drawn
by the same seed. The workers are careful simulated ones; helpers who never watch answer the chains'
questions, so that every kind occurs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from annotation import campaigns, instructions
from annotation.models import Assignment, Campaign, Caption, Control, Corpus, Identity, Image, Item, Worker
from annotation.moderation import control_items
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import question_from
from annotation.protocol.controls import draw_number
from annotation.protocol.gold import Truth
from annotation.protocol.kinds import is_page
from annotation.protocol.paging import Pair
from annotation.protocol.questions import Answer
from annotation.quality import controls
from annotation.queue import leases, relevance_pages, submission
from annotation.queue.leases import NoTask
from annotation.selectors.records import stream_records
from annotation.simulation.workers import PRESETS
from annotation.simulation.workers import SimulatedWorker as Simulated
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from config.sample import sample_record
from tests.factories import a_corpus
from tests.web import world

UNKNOWN_SPLIT, KNOWN = "train", "val"
#: Kinds that have control items.
CHAINS = (q.COREF_LINK, q.CHAIN_VERIFICATION, q.BOX_REQUIREMENT, q.BOX_QUALITY, q.BOX_COVERAGE)

#: Maximum number of captions of others per image: single pairs are about many images.
OTHERS = {"relevance": 19, "graded": 4, "tags": 19}

#: Number of questions of an image that helpers answer, in order; some remain.
ANSWERS_PER_IMAGE = {
    q.COREF_LINK: 15,
    q.CHAIN_VERIFICATION: 2.5,
    q.BOX_REQUIREMENT: 1.5,
    q.BOX_DRAWING: 2.5,
    q.BOX_QUALITY: 1,
    q.BOX_COVERAGE: 0.5,
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of a campaign: regular and control images, workers, and items per worker and kind, half of
    them control items."""

    unknown: int
    known: int
    workers: int
    items: int


class WatchedCampaign:
    """An open campaign, its workers' accounts, and their answers."""

    def __init__(self, name: str, tasks: str, sizes: Sizes, *, seed: int, folder: Path) -> None:
        self.name, self.sizes, self.seed = name, sizes, seed
        _corpus(f"{name}-corpus", sizes, seed, folder)
        trust = {"qualification": False, "warm_up_items": sizes.items, "warm_up_known": sizes.items // 2}
        settings: dict[str, Any] = {"trust": {"double_check_share": 0.05, **trust}}
        self.campaign = campaigns.create_campaign(
            name=name, corpus=f"{name}-corpus", tasks=tasks, settings=settings
        )
        Campaign.objects.filter(pk=self.campaign.pk).update(open_to_all=True)
        self.settings = settings_of(self.campaign.settings)
        rows = list(
            Image.objects.filter(corpus=self.campaign.corpus, split=UNKNOWN_SPLIT).order_by("position")
        )
        if tasks == "entities":
            campaigns.open_campaign_images(campaign=self.campaign, split=UNKNOWN_SPLIT)
            layer = campaigns.gold_layer(self.campaign.corpus)
            assert layer is not None
            held_back = Image.objects.filter(corpus=self.campaign.corpus, split=KNOWN)
            control_items.from_gold(
                campaign=self.campaign,
                layer=layer,
                images=list(held_back.values_list("key", flat=True)),
                seed=seed,
                per_answer={"control": 4 * sizes.known},
                purposes=[Control.CONTROL],
            )
        else:
            campaigns.open_pairs(campaign=self.campaign, pairs=_pairs(rows, seed, OTHERS[tasks]))
            controls.from_split(
                campaign=self.campaign,
                split=KNOWN,
                seed=seed,
                number=sizes.known // 2,
                purposes=[Control.CONTROL],
            )
        campaigns.begin_campaign(campaign=self.campaign)
        instructions.publish_text(campaign=self.campaign, kind=instructions.CONSENT, text="")
        self.truths = _truths(self.campaign) if tasks == "entities" else {}
        self.watchers = [self._joined(f"{name}-w-{number}", True) for number in range(sizes.workers)]
        self.helpers = [self._joined(f"{name}-h-{number}", False) for number in range(4)]

    def _joined(self, name: str, signs_in: bool) -> Simulated:
        worker = Worker.objects.create(pseudonym=name)
        if signs_in:
            Identity.objects.create(worker=worker, account=world.account(name, "annotator"))
        return Simulated(name, PRESETS["careful"], self.seed)

    def answer(self, worker: Simulated, assignment: int) -> Answer:
        """Return a careful worker's answer to a leased task."""
        row = Assignment.objects.select_related("task__image", "control").get(pk=assignment)
        if is_page(row.kind):
            page = relevance_pages.blocks(assignment, seed=self.campaign.seed, settings=self.settings)
            ticked = [[image == block.image for image, _ in block.captions] for block in page]
            return Answer("judged", content={"ticked": ticked})
        if row.control is not None:
            image, key, content = row.control.image_id, row.control.key, row.control.content
        else:
            assert row.task is not None
            image, key = row.task.image.image_id, row.task.key
            content = Item.objects.get(task=row.task, position=0).content
        if row.kind == GRADED_RELEVANCE:
            return Answer("4" if content["caption"][0] == image else "1")
        return Answer(*worker.answer(question_from(row.kind, key, content), self.truths[image]))

    def known(self, assignment: int) -> bool | list[bool]:
        """Return whether an item is a control item; for a page, whether each image is, in the order shown."""
        row = Assignment.objects.get(pk=assignment)
        if not is_page(row.kind):
            return row.control_id is not None
        page = relevance_pages.blocks(assignment, seed=self.campaign.seed, settings=self.settings)
        return [block.control is not None for block in page]

    def group(self, assignment: int) -> str | list[str]:
        """Return the image of an item, by its key."""
        row = Assignment.objects.select_related("task__image", "control").get(pk=assignment)
        if is_page(row.kind):
            page = relevance_pages.blocks(assignment, seed=self.campaign.seed, settings=self.settings)
            return [f"{self.name} {block.image}" for block in page]
        if row.control is not None:
            return f"{self.name} {row.control.image_id}"
        assert row.task is not None
        return f"{self.name} {row.task.image.image_id}"

    def help(self, share: float) -> None:
        """Let the helpers answer questions about a share of the images, so that no kind runs out."""
        for kind, item in ANSWERS_PER_IMAGE.items():
            for number in range(round(share * item * self.sizes.unknown)):
                self._helps(self.helpers[number % len(self.helpers)], kind)

    def _helps(self, person: Simulated, kind: str) -> None:
        row = Worker.objects.get(pseudonym=person.name)
        lease = leases.take_lease(worker=row.pk, campaign=self.campaign, kind=kind)
        if isinstance(lease, NoTask):
            return
        answer = self.answer(person, lease.id)
        submission.submit(worker=row.pk, assignment=lease.id, answer=answer, token=f"h{lease.id}", then=False)


def _corpus(name: str, sizes: Sizes, seed: int, folder: Path) -> Corpus:
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for number in range(sizes.unknown + sizes.known):
        record = sample_record(number, seed=seed)
        picture = folder / f"{name}-{number}.png"
        shade = int(draw_number(seed, name, number) * 2**24)
        Pillow.new("RGB", (record.width, record.height), f"#{shade:06x}").save(picture)
        split = UNKNOWN_SPLIT if number < sizes.unknown else KNOWN
        records.append(replace(record, split=split, picture=picture))
    return a_corpus(name, records)


def _truths(campaign: Campaign) -> Mapping[int, Truth]:
    ids = dict(Image.objects.filter(corpus=campaign.corpus).values_list("key", "pk"))
    layer = campaigns.gold_layer(campaign.corpus)
    return {
        ids[record.id]: Truth(record.layer, image=record.id, size=(record.width, record.height))
        for record in stream_records(corpus=campaign.corpus, layer=layer)
        if record.layer is not None
    }


def _pairs(rows: list[Image], seed: int, most: int) -> list[Pair]:
    """Return for each image one to three of its own captions, like a batch of rankings, and at most `most`
    others."""
    pairs = []
    names = [
        f"{key}#{number}"
        for key, number in Caption.objects.filter(image__in=rows).values_list("image__key", "number")
    ]
    for row in rows:
        own_names = [name for name in names if name.rpartition("#")[0] == row.key]
        others = sorted(
            (name for name in names if name not in own_names),
            key=lambda name: draw_number(seed, row.key, name),
        )
        own_names = sorted(own_names, key=lambda name: draw_number(seed, "own", name))[
            : 1 + int(draw_number(seed, "own", row.key) * 3)
        ]
        pairs += [
            Pair(row.key, name)
            for name in [*own_names, *others[: 2 + int(draw_number(seed, row.key) * (most - 1))]]
        ]
    return pairs


def answer_fields(answer: Answer) -> dict[str, Any]:
    """Return an answer as the API's fields."""
    box = answer.box
    plain_value = [box.xmin, box.ymin, box.xmax, box.ymax] if box else None
    return json.loads(json.dumps({"answer": answer.answer, "box": plain_value, **(answer.content or {})}))
