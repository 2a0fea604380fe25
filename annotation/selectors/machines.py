"""Machines as pages, the queue and evaluation read them: which is at work, what became of its boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from annotation.models import Campaign, Judgment, Machine, MachineProposals, OpenImage, Standing
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import mention_from
from annotation.protocol.kinds import draws, judged_by, machine_kinds
from annotation.protocol.machines import Proposals, ProposedBox, categories_left, machine_trust
from annotation.protocol.questions import VOTE
from annotation.protocol.terms import CATEGORIES, Box, Chain
from annotation.protocol.trust import TRUST_STATES

#: Boxes of a machine that are read at once: of the newest ones, and at most, as it goes further back.
PORTION, LARGEST_PORTION = 400, 3200


@dataclass(frozen=True, slots=True)
class JudgedBox:
    """A box that a machine drew when it had that version, the categories of its chain, and the verdict: None
    while there is none."""

    image: int
    version: int
    categories: tuple[str, ...]
    chance: float
    good: bool | None


@dataclass(frozen=True, slots=True)
class CategoryRecord:
    """What became of a machine's boxes of a category: judged ones, and those of them that are good."""

    category: str
    judged: int
    good: int


@dataclass(frozen=True, slots=True)
class CategoryReport:
    """A category as a machine has it: boxes judged and accepted since it last learnt; `left`: people draw."""

    category: str
    judged: int
    good: int
    left: bool


@dataclass(frozen=True, slots=True)
class MachineReport:
    """A machine as pages and commands show it: how its worker stands, and what became of its boxes.

    `judged`, `good` and `waiting` (no verdict yet) count all of its boxes; `categories` those of its version.
    """

    name: str
    worker: str
    version: int
    learnt: int | None
    source: str
    from_file: bool
    state: str
    judged: int
    good: int
    waiting: int
    categories: tuple[CategoryReport, ...]


def machine_reports(campaign: Campaign) -> list[MachineReport]:
    """The machines of a campaign, the newest first."""
    settings = settings_of(campaign.settings)
    trust = machine_trust(settings.trust, settings.machine)
    found = []
    for machine in (
        Machine.objects.filter(campaign=campaign).select_related("worker", "campaign").order_by("-pk")
    ):
        kinds = drawing_kinds(campaign)
        standing = Standing.objects.filter(campaign=campaign, worker=machine.worker, kind__in=kinds).first()
        every = list(judged_boxes(machine))[::-1]
        newest = [box for box in every if machine.version and box.version >= machine.version]
        verdicts = [(box.categories, box.good) for box in newest if box.good is not None]
        left = categories_left(verdicts, kind=kinds[0], settings=trust) if kinds else frozenset()
        found.append(
            MachineReport(
                name=machine.name,
                worker=machine.worker.pseudonym,
                version=machine.version,
                learnt=machine.learnt,
                source=machine.source,
                from_file=machine.from_file,
                state=_state(standing),
                judged=sum(box.good is not None for box in every),
                good=sum(box.good is True for box in every),
                waiting=sum(box.good is None for box in every),
                categories=tuple(
                    CategoryReport(one.category, one.judged, one.good, one.category in left)
                    for one in category_records(newest)
                ),
            )
        )
    return found


def _state(standing: Standing | None) -> str:
    if standing is None:
        return TRUST_STATES[0]
    return "withdrawn" if standing.withdrawn_at else "blocked" if standing.blocked else standing.state


def machine_at_work(campaign: int) -> Machine | None:
    """The newest machine of a campaign (its row's id); None if there is none, or where somebody suspended it
    for drawing or withdrew its boxes. An older one does not take its place."""
    machines = Machine.objects.filter(campaign=campaign).select_related("worker", "campaign")
    newest = machines.order_by("-pk").first()
    if newest is None:
        return None
    off = Standing.objects.filter(
        Q(blocked=True) | Q(withdrawn_at__isnull=False),
        campaign=campaign,
        worker=newest.worker_id,
        kind__in=drawing_kinds(newest.campaign),
    )
    return None if off.exists() else newest


def proposals_from(boxes: Mapping[str, Sequence[Sequence[float]]]) -> Proposals:
    """Proposals from the form in which a row holds them."""
    return {
        phrase: [ProposedBox(Box(*map(int, corners)), chance) for *corners, chance in own]
        for phrase, own in boxes.items()
    }


def stored_proposals(machine: Machine) -> Iterator[tuple[str, Proposals]]:
    """(key of the image, what the machine would draw there), in the images' order."""
    rows = MachineProposals.objects.filter(machine=machine, version=machine.version).order_by("image__place")
    for key, boxes in rows.values_list("image__image__key", "boxes").iterator():
        yield key, proposals_from(boxes)


def picture_sizes(campaign: Campaign) -> dict[str, tuple[int, int]]:
    """Key of each image that a campaign asks about -> width and height of its picture, 0 where not known."""
    rows = OpenImage.objects.filter(campaign=campaign)
    return {
        key: (wide, high)
        for key, wide, high in rows.values_list("image__key", "image__width", "image__height")
    }


def drawing_kinds(campaign: Campaign) -> tuple[str, ...]:
    """The kinds of a campaign at which a machine draws boxes."""
    return tuple(kind for kind in machine_kinds(campaign.kinds) if draws(kind))


def drawn_boxes(machine: Machine, image: OpenImage) -> dict[frozenset[str], frozenset[Box]]:
    """Mentions of a chain -> the boxes that the machine drew for them in an image, accepted or not."""
    rows = Judgment.objects.filter(
        image=image,
        worker=machine.worker_id,
        kind__in=drawing_kinds(machine.campaign),
        xmin__isnull=False,
        void=False,
    )
    found: dict[frozenset[str], set[Box]] = {}
    places: Any = rows.values_list("key", "xmin", "ymin", "xmax", "ymax")
    for key, *corners in places:
        found.setdefault(frozenset(key.split("|")[1].split()), set()).add(Box(*corners))
    return {names: frozenset(boxes) for names, boxes in found.items()}


def judged_boxes(machine: Machine, *, since: int = 0) -> Iterator[JudgedBox]:
    """A machine's boxes, the newest first, those of version `since` and later.

    They are read as they are taken, in portions of three queries each: who needs the newest alone reads no
    more. The verdict on a box is the first vote about it, as in its standing.
    """
    kinds = drawing_kinds(machine.campaign)
    drawn: Any = (
        Judgment.objects.filter(
            campaign=machine.campaign_id, worker=machine.worker_id, kind__in=kinds, image__isnull=False
        )
        .exclude(answer="")
        .order_by("-pk")
    )
    size, before = PORTION, 0
    while True:
        older = drawn.filter(pk__lt=before) if before else drawn
        rows = list(older.values_list("pk", "image", "name", "key", "content")[:size])
        found = [
            (image, name, key, version, content)
            for _pk, image, name, key, content in rows
            if (version := int((content or {}).get("version", 0))) >= since
        ]
        images = {image for image, *_ in found}
        mentions = _mentions(images)
        verdicts = _verdicts(images, {judged_by(kind) for kind in kinds})
        for image, name, key, version, content in found:
            of_chain = [mentions[image][one] for one in key.split("|")[1].split() if one in mentions[image]]
            yield JudgedBox(
                image,
                version,
                Chain("", tuple(of_chain)).categories,
                float((content or {}).get("chance", 0.0)),
                verdicts.get((image, name)),
            )
        # Versions rise: where all of a portion are older, so is the rest.
        if len(rows) < size or not found:
            return
        before, size = rows[-1][0], min(2 * size, LARGEST_PORTION)


class NewestVerdicts:
    """The newest verdicts on a machine's boxes by category; boxes are read back only as far as is asked.

    A rare category is asked for rarely, so on the whole the record of each category costs alike.
    """

    def __init__(self, boxes: Iterable[JudgedBox]) -> None:
        """`boxes`: the newest first."""
        self._boxes = iter(boxes)
        self._found: dict[str, list[bool]] = {}

    def of_category(self, category: str, count: int) -> list[bool]:
        """Its last `count` verdicts (good or not), oldest first; fewer where there are no more."""
        own = self._found.setdefault(category, [])
        while len(own) < count and (box := next(self._boxes, None)) is not None:
            if box.good is not None:
                for each in box.categories:
                    self._found.setdefault(each, []).append(box.good)
        return own[:count][::-1]


def category_records(boxes: Sequence[JudgedBox]) -> list[CategoryRecord]:
    """By category, in the order of Table 1, what became of these boxes."""
    judged: dict[str, list[bool]] = {}
    for box in boxes:
        if box.good is not None:
            for category in box.categories:
                judged.setdefault(category, []).append(box.good)
    known = [name for name in CATEGORIES if name in judged]
    order = known + sorted(set(judged) - set(known))
    return [CategoryRecord(name, len(judged[name]), sum(judged[name])) for name in order]


def _mentions(images: set[int]) -> dict[int, dict[str, Any]]:
    rows = OpenImage.objects.filter(pk__in=images).values_list("pk", "mentions")
    return {pk: {one.id: one for one in map(mention_from, plain)} for pk, plain in rows}


def _verdicts(images: set[int], kinds: set[str]) -> dict[tuple[int, str], bool]:
    """(image, name of the drawing) -> whether the first vote on it says that the box is good."""
    found: dict[tuple[int, str], bool] = {}
    votes = Judgment.objects.filter(image__in=images, kind__in=kinds, role=VOTE, void=False, flag="")
    for image, key, answer in votes.order_by("pk").values_list("image", "key", "answer"):
        found.setdefault((image, key.split("|")[1]), answer == "good")
    return found
