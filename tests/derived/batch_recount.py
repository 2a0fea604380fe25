"""Recount every figure of a batch from the stored judgments, leases and control items.

Which judges and answers count, what is collected and what is still to come is computed from rows, in plain
Python. The filter's loss is computed from counted pairs by the product's own function, which is tested
elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import (
    Assignment,
    Campaign,
    Caption,
    Control,
    Image,
    Item,
    Judgment,
    PageControl,
    Payout,
    TrustState,
)
from annotation.protocol.paging import PAGE_ROLES, ROLE_FILLER, ROLE_WANTED
from annotation.protocol.paging import ROLE_CONTROL as KNOWN
from evaluation.models import Batch, JudgmentSet, PairAnswers
from phrasebox.pooling.unlikely import FilterLoss, filter_loss
from tests.derived import batch_world as world

PAY = 20_000
BAR: float = world.SETTINGS["trust"]["relevance_bar"]
WINDOW: int = world.SETTINGS["trust"]["window"]
ENOUGH: int = world.SETTINGS["trust"]["verdict_known"]
JUDGES: int = world.SETTINGS["answers"]["relevance"]

#: Ids of an image and a caption.
Pair = tuple[int, int]
#: Answers by pair and judge, in order of arrival.
AnswersByPair = dict[Pair, dict[str, int]]
#: Open image and key of each task, by which judgments refer to it.
Pages = dict[int, tuple[int, str]]


@dataclass(frozen=True)
class Person:
    """A judge of one campaign: seen and right control items, why they do not count, valid answers, the number
    from before they were reinstated, and whether those count."""

    known: int
    right: int
    suspended: bool
    unused: str
    stand: tuple[int, ...]
    since: int
    by_name: bool

    @property
    def before(self) -> int:
        return sum(row <= self.since for row in self.stand)

    @property
    def counted(self) -> bool:
        return self.by_name and self.before > 0 and not self.unused

    @property
    def excluded(self) -> int:
        if self.unused:
            return len(self.stand)
        return 0 if self.counted else self.before


class Places:
    """Constant data: images and captions, pages, and sets of judgments.

    Images are numbered as in `batch_world`; `image` and `number` convert numbers to ids and back.
    """

    def __init__(self) -> None:
        images = Image.objects.filter(corpus__name=world.CORPUS)
        self.number = {pk: int(key.removeprefix("i")) for pk, key in images.values_list("pk", "key")}
        self.image = {number: pk for pk, number in self.number.items()}
        self.captions: dict[int, list[int]] = defaultdict(list)
        rows = Caption.objects.filter(image__in=self.number).order_by("image", "number")
        for image, pk in rows.values_list("image", "pk"):
            self.captions[image].append(pk)
        self._pages_of: dict[int, tuple[Pages, dict[str, set[Pair]]]] = {}
        self._held: dict[int, dict[Pair, list[tuple[str, int]]]] = {}

    def pairs(self, numbers: Collection[tuple[int, int]]) -> set[Pair]:
        """Return pairs of an image and the first caption of another, by their numbers."""
        return {(self.image[n], self.captions[self.image[value]][0]) for n, value in numbers}

    def requested_by(self, campaign: Campaign) -> tuple[Pages, dict[str, set[Pair]]]:
        """Return a campaign's pages, and the pairs on them by role."""
        if campaign.pk not in self._pages_of:
            pages: Pages = {}
            pairs: dict[str, set[Pair]] = {ROLE_WANTED: set(), ROLE_FILLER: set()}
            items = Item.objects.filter(task__campaign=campaign)
            for task, image, key, content in items.values_list("task", "task__image", "task__key", "content"):
                pages[task] = (image, key)
                for (owner, index), role in zip(content["captions"], content["roles"], strict=True):
                    pair = (content["image"], self.captions[owner][index])
                    assert pair not in pairs[PAGE_ROLES[role]], "asked on two pages"
                    pairs[PAGE_ROLES[role]].add(pair)
            self._pages_of[campaign.pk] = pages, pairs
        return self._pages_of[campaign.pk]

    def held_by(self, judgments: JudgmentSet) -> dict[Pair, list[tuple[str, int]]]:
        """Return the judgments of a set by pair and judge."""
        if judgments.pk not in self._held:
            rows = PairAnswers.objects.filter(judgments=judgments)
            self._held[judgments.pk] = {
                (image, caption): [(who, int(grade)) for who, grade in zip(judges, grades, strict=True)]
                for image, caption, grades, judges in rows.values_list("image", "caption", "grades", "judges")
            }
        return self._held[judgments.pk]


class Rows:
    """All rows of a batch's campaign, read at once."""

    def __init__(self, batch: Batch, places: Places) -> None:
        self.batch = batch
        self.campaign: Campaign = batch.campaign
        of = {"campaign": self.campaign}
        self.judgments = list(Judgment.objects.filter(**of).select_related("worker").order_by("id"))
        self.leases = list(Assignment.objects.filter(**of))
        self.trust_states = list(TrustState.objects.filter(**of).select_related("worker"))
        self.payouts = sum(Payout.objects.filter(**of).values_list("amount", flat=True))
        self.known = {control.pk: control for control in Control.objects.filter(**of)}
        page_controls = PageControl.objects.filter(assignment__campaign=self.campaign)
        self.graded: dict[tuple[int | None, int], bool | None] = {
            (a, c): right for a, c, right in page_controls.values_list("assignment", "control", "right")
        }
        # Open pages never change.
        self.pages, self.pairs_by_role = places.requested_by(self.campaign)

    def people(self, by_name: Collection[str]) -> dict[str, Person]:
        people = {}
        for row in self.trust_states:
            rights = self._rights(row)
            suspended = _suspended(rights)
            unused = "suspended" if suspended else ""
            if not unused and sum(rights) < BAR * len(rights):
                unused = f"{sum(rights)} of {len(rights)} control items right"
            withdrawn = row.withdrawn_at is not None
            values = [j for j in self.judgments if j.worker_id == row.worker_id and j.image_id is not None]
            # A page is only withdrawn together with its judge.
            assert all(j.withdrawn == withdrawn for j in values), [(j.pk, j.withdrawn) for j in values]
            people[row.worker.pseudonym] = Person(
                known=len(rights),
                right=sum(rights),
                suspended=suspended,
                unused=unused,
                stand=() if withdrawn else tuple(j.pk for j in values),
                since=row.since,
                by_name=row.worker.pseudonym in by_name,
            )
        return people

    def _rights(self, row: TrustState) -> list[bool]:
        """Return whether each control image was answered rightly since the trust state began, in order."""
        rights = []
        for judgment in self.judgments:
            if judgment.worker_id != row.worker_id or judgment.pk <= row.since:
                continue
            for block in (judgment.content or {})["blocks"]:
                if "control" not in block:
                    continue
                assert {PAGE_ROLES[role] for role in block["roles"]} == {KNOWN}
                graded = self.graded[judgment.assignment_id, block["control"]]
                if graded is None:  # somebody retired the item as wrong
                    continue
                item = self.known[block["control"]]
                (own_block,) = item.content["blocks"]
                truth = dict(zip(map(tuple, own_block["captions"]), item.known, strict=True))
                right = [truth[tuple(caption)] for caption in block["captions"]] == block["yes"]
                assert right == graded
                rights.append(right)
        return rights

    def decided(self) -> tuple[Any, ...]:
        """Return decisions of people and rules: no reader may be behind them."""
        return (
            self.campaign.state,
            tuple(
                sorted(
                    (s.worker_id, s.state == "suspended", s.blocked, s.withdrawn_at is None, s.since)
                    for s in self.trust_states
                )
            ),
            sum(j.withdrawn for j in self.judgments),
            tuple(sorted((pk, row.active) for pk, row in self.known.items())),
        )

    # What is still asked -----------------------------------------------------------------------------

    def votes(self) -> Counter[tuple[int | None, str]]:
        return Counter((j.image_id, j.key) for j in self.judgments if j.image_id and not j.withdrawn)

    def open(self) -> int:
        votes = self.votes()
        return sum(votes[page] < JUDGES for page in self.pages.values())

    def wanting(self) -> int:
        if self.campaign.state == Campaign.CLOSED:
            return 0
        votes = self.votes()
        held = [lease.task_id for lease in self.leases if lease.state == Assignment.LEASED]
        on = Counter(task for task in held if task is not None)
        new = sum(max(0, JUDGES - votes[page] - on[task]) for task, page in self.pages.items())
        return new + sum(on.values())

    # Money -------------------------------------------------------------------------------------------

    def handed_in(self) -> int:
        return sum(lease.state == Assignment.SUBMITTED for lease in self.leases)

    def earned(self) -> int:
        return PAY * self.handed_in()

    def to_come(self) -> int | None:
        """Return what the remaining answers will earn; None until anybody answered."""
        done = [lease for lease in self.leases if lease.state == Assignment.SUBMITTED]
        on_tasks = sum(lease.role != "control" for lease in done)
        if not self.wanting():
            return 0
        return round(self.wanting() * self.earned() / on_tasks) if on_tasks else None


def _suspended(rights: Sequence[bool]) -> bool:
    """Return whether the rules suspend the judge at any time: suspensions stay."""
    for number in range(ENOUGH, len(rights) + 1):
        last = rights[:number][-WINDOW:]
        invalid = len(last) - sum(last)
        if (WINDOW - invalid) / WINDOW < BAR:
            return True
    return False


class Recount:
    """A batch and the ones before it."""

    def __init__(self, rows: Sequence[Rows], places: Places, by_name: Mapping[str, Sequence[str]]) -> None:
        """`rows` are of the batches up to this one, `by_name` the judges whom each counts by name."""
        self.newest = rows[-1]
        self.places = places
        self.batch = self.newest.batch
        self.people = {row.batch.name: row.people(by_name.get(row.batch.name, ())) for row in rows}
        self.mine = self.people[self.batch.name]
        self.answers_by_pair: AnswersByPair = {}
        self.fillers: set[Pair] = set()
        for row in rows:
            self._take(row)

    def _take(self, rows: Rows) -> None:
        """Add the answers of a campaign: for each judge the first about a pair."""
        people = self.people[rows.batch.name]
        for judgment in rows.judgments:
            person = people.get(judgment.worker.pseudonym)
            if person is None or person.unused or judgment.pk not in person.stand:
                continue
            if judgment.pk <= person.since and not person.counted:
                continue
            for block in (judgment.content or {})["blocks"]:
                for (owner, index), role, yes in zip(
                    block["captions"], block["roles"], block["yes"], strict=True
                ):
                    pair = (block["image"], self.places.captions[owner][index])
                    if PAGE_ROLES[role] == KNOWN:
                        continue
                    assert pair in rows.pairs_by_role[PAGE_ROLES[role]]
                    self.answers_by_pair.setdefault(pair, {}).setdefault(judgment.worker.pseudonym, int(yes))
                    if PAGE_ROLES[role] == ROLE_FILLER:
                        self.fillers.add(pair)

    # Pairs -------------------------------------------------------------------------------------------

    def enough(self) -> set[Pair]:
        return {pair for pair, provided in self.answers_by_pair.items() if len(provided) >= JUDGES}

    def relevant(self) -> set[Pair]:
        """Return pairs with more yes than no."""
        return {
            pair
            for pair, provided in self.answers_by_pair.items()
            if 2 * sum(provided.values()) > len(provided)
        }

    def judged(self) -> int:
        return len(self.newest.pairs_by_role[ROLE_WANTED] & self.enough())

    def short(self) -> int:
        return len(self.newest.pairs_by_role[ROLE_WANTED] - self.enough())

    def reused(self) -> tuple[int, int]:
        """Return, of the pairs that the runs contribute and that are not asked, the numbers of those with
        enough judgments, and without."""
        likely, _ = world.pooled(self.batch.depth)
        others = self.places.pairs(likely) - self.newest.pairs_by_role[ROLE_WANTED]
        return len(others & self.enough()), len(others - self.enough())

    def counted_by_name(self) -> dict[str, list[str]]:
        result = {
            batch: sorted(name for name, person in people.items() if person.counted)
            for batch, people in self.people.items()
        }
        return {batch: names for batch, names in result.items() if names}

    def collected(self) -> bool:
        newest = self.batch.judgments
        if newest is None:
            return False
        return newest.counted == self.counted_by_name() and self.places.held_by(newest) == self.in_order()

    def in_order(self) -> dict[Pair, list[tuple[str, int]]]:
        return {pair: list(provided.items()) for pair, provided in self.answers_by_pair.items()}

    # What judges make of it --------------------------------------------------------------------------

    def agreement(self) -> tuple[int, float | None]:
        """Return the number of pairs with two judges, and Krippendorff's alpha of their answers."""
        twice = [
            g
            for pair, g in self.answers_by_pair.items()
            if pair in self.newest.pairs_by_role[ROLE_WANTED] and len(g) > 1
        ]
        total = sum(map(len, twice))
        yes = sum(sum(provided.values()) for provided in twice)
        if not yes or yes == total:
            return len(twice), None
        apart = sum(sum(g.values()) * (len(g) - sum(g.values())) / (len(g) - 1) for g in twice)
        return len(twice), 1 - (total - 1) * apart / (yes * (total - yes))

    def loss(self) -> FilterLoss | None:
        likely, unlikely = map(self.places.pairs, world.pooled(self.batch.depth))
        fillers = sorted(self.fillers & unlikely)
        if not fillers:
            return None
        return filter_loss(
            np.array([image for image, _ in fillers]),
            np.array([pair in self.relevant() for pair in fillers]),
            np.array([any(self.answers_by_pair[pair].values()) for pair in fillers]),
            filtered=len(unlikely),
            relevant_left=len(self.relevant() & likely),
        )

    def unused(self) -> dict[str, str]:
        return {name: row.unused for name, row in self.mine.items() if row.unused and row.stand}

    def to_ask_again(self) -> int:
        return sum(len(self.mine[name].stand) for name in self.unused())

    def withdrawn(self) -> list[str]:
        return sorted(s.withdrawn_reason for s in self.newest.trust_states if s.withdrawn_at is not None)

    def in_a_report(self) -> tuple[Any, ...]:
        """Return everything in a report on the batch that may change."""
        return (
            self.newest.campaign.state,
            (self.judged(), self.short(), self.reused()[1]),
            (self.newest.handed_in(), self.newest.earned()),
            sum(len(row.stand) > row.excluded for row in self.mine.values()),
            sorted(self.unused().values()),
            self.withdrawn(),
            sum(row.excluded for row in self.mine.values() if not row.unused),
            sum(row.before for row in self.mine.values() if row.counted),
            self.loss(),
        )
