"""Judgments on pairs of images and captions, pair by pair, and which judges count.

In a campaign of pages each tick is one judgment (0 or 1), with the role of its pair on the page; in one of
graded pairs each grade is. Withdrawn answers, reports, and control items are excluded.

Hodosh et al. 2013, section 4.3.2: "We only used workers who judged 70% of their control items correctly." So
the answers of a judge are unused if the rules suspended the judge, or if the share of right control items is
below the bar; a judge without control items is used. Reinstating a judge whom the rules had suspended creates
a new trust state, which only covers later answers: the earlier ones are used only if the request names the
judge. A judge who was suspended by hand and reinstated counts in full.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db.models import Count, Max, Q, Sum

from annotation.common.database import chunks
from annotation.models import (
    AuditEntry,
    Campaign,
    Caption,
    Image,
    Item,
    Judgment,
    OpenImage,
    Task,
    TrustState,
)
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import ABOUT_PAIR, only_kind
from annotation.protocol.paging import PAGE_ROLES, ROLE_CONTROL, ROLE_WANTED, Filling, filling_of
from annotation.protocol.trust import SUSPENDED
from annotation.protocol.trust_settings import TrustSettings
from annotation.selectors.campaign.cost import TEST_ROLE
from annotation.selectors.campaign.sums import earned

#: Number of answers read at a time.
_PAGE = 1_000
#: An average below this number of seconds per pair is too fast for anybody who looks at them.
LEAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PairJudgment:
    """The judgment of `judge` (a pseudonym) on an image and a caption (ids of rows); `role` as in
    paging.ROLES.

    `judgment` is the id of the judgment that contains it: a page's is that of all its ticks.
    """

    image: int
    caption: int
    judge: str
    value: int
    role: str
    judgment: int


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge's results on control items, and the reason why the answers are unused ("" if they are used).

    `answers` is the number of pages, or grades, that are not withdrawn. `before` of them came before the
    judge was reinstated: up to the judgment `since`, 0 if the rules suspended nobody. They are used only if
    they are `counted` by name. `withdrawn`: a researcher withdrew the judge's answers.
    """

    known: int
    right: int
    unused: str = ""
    answers: int = 0
    since: int = 0
    before: int = 0
    counted: bool = False
    withdrawn: bool = False

    @property
    def excluded(self) -> int:
        """Number of `answers` that are not used."""
        if self.unused:
            return self.answers
        return 0 if self.counted else self.before

    def uses(self, judgment: int) -> bool:
        """Whether the judge's judgment of this id is used."""
        return not self.unused and (self.counted or judgment > self.since)


def judges(campaign: Campaign, trust: TrustSettings, *, counted: Collection[str] = ()) -> dict[str, Judge]:
    """Return everybody with a trust state in a campaign of pairs, by pseudonym; `trust` are its settings.

    `counted` are the judges whose answers from before they were reinstated are used.
    """
    (kind,) = campaign.kinds
    bar = trust.bar_of(kind)
    stand = Judgment.objects.filter(
        campaign=campaign, kind=kind, withdrawn=False, flag="", image__isnull=False
    )
    answers = dict(stand.values_list("worker").annotate(n=Count("id")).order_by())
    workers = {}
    rows = TrustState.objects.filter(campaign=campaign, kind=kind).order_by("worker__pseudonym")
    columns = ("worker", "worker__pseudonym", "state", "known", "right", "since", "withdrawn_at")
    for worker, name, state, known, right, since, withdrawn_at in rows.values_list(*columns):
        unused = _why_unused(state, known, right, bar)
        before = stand.filter(worker=worker, id__lte=since).count() if since else 0
        workers[name] = Judge(
            known,
            right,
            unused,
            answers.get(worker, 0),
            since,
            before,
            counted=before > 0 and not unused and name in counted,
            withdrawn=withdrawn_at is not None,
        )
    return workers


def _why_unused(state: str, known: int, right: int, bar: float) -> str:
    """Return why a judge's answers do not count, "" if they do."""
    if state == SUSPENDED:
        return "suspended"
    return f"{right} of {known} control items right" if right < bar * known else ""


def newest_judgment() -> int:
    """Return the id of the newest judgment of all, 0 if there is none."""
    return Judgment.objects.aggregate(newest=Max("id"))["newest"] or 0


def answers_used(
    campaign: Campaign, people: Mapping[str, Judge], *, until: int | None = None
) -> list[tuple[str, int, int, int]]:
    """Return plain data that is the same as long as the same answers of a campaign of pairs are used: by
    judge, their number and the sum of their ids, and the judgment up to which they are excluded.

    `people` are its `judges`; `until` is the newest judgment that is considered (None: all are).
    """
    (kind,) = campaign.kinds
    stand = Judgment.objects.filter(
        campaign=campaign, kind=kind, withdrawn=False, flag="", image__isnull=False
    )
    if until is not None:
        stand = stand.filter(id__lte=until)
    by_worker = stand.values_list("worker__pseudonym").annotate(n=Count("id"), ids=Sum("id")).order_by()
    # PostgreSQL sums to a decimal number.
    counts = {name: (n, int(ids)) for name, n, ids in by_worker}
    return [
        (name, *counts[name], 0 if judge.counted or not judge.before else judge.since)
        for name, judge in sorted(people.items())
        if name in counts and not judge.unused
    ]


def newest_change(campaign: Campaign, *, until: int | None = None) -> int:
    """Return the audit line of the newest change that a judge made to their own answer, 0 if there is none;
    with `until`, of a judgment up to that one."""
    lines = AuditEntry.objects.filter(campaign=campaign, act=AuditEntry.CHANGE_ANSWER)
    if until is None:
        return lines.aggregate(newest=Max("id"))["newest"] or 0
    changed = dict(lines.order_by("id").values_list("about__assignment", "id"))
    newest = 0
    for some in chunks(changed, _PAGE):
        judgments = Judgment.objects.filter(assignment__in=some, id__lte=until)
        newest = max(
            [newest, *(changed[assignment] for assignment in judgments.values_list("assignment", flat=True))]
        )
    return newest


def judges_excluded(campaigns: Mapping[Campaign, TrustSettings]) -> Counter[int]:
    """Return by id of each campaign of pairs how many judges there have valid answers that do not count:
    those that `judges` marks as unused. Two queries for any number of campaigns."""
    excluded = Counter[int]()
    if not campaigns:
        return excluded
    bars = {row.pk: (row.kinds, trust.bar_of(row.kinds[0])) for row, trust in campaigns.items()}
    stand = Judgment.objects.filter(campaign__in=bars, withdrawn=False, flag="", image__isnull=False)
    answered = set(stand.order_by().values_list("campaign", "worker", "kind").distinct())
    rows = TrustState.objects.filter(campaign__in=bars)
    for campaign, worker, kind, state, known, right in rows.values_list(
        "campaign", "worker", "kind", "state", "known", "right"
    ):
        kinds, bar = bars[campaign]
        if kind in kinds and (campaign, worker, kind) in answered:
            excluded[campaign] += bool(_why_unused(state, known, right, bar))
    return excluded


def withdrawn_judges(campaign: Campaign) -> dict[str, str]:
    """Return the judges whose judgments in a campaign of pairs were withdrawn: pseudonym to reason ("":
    none)."""
    rows = TrustState.objects.filter(campaign=campaign, kind__in=campaign.kinds, withdrawn_at__isnull=False)
    return dict(rows.order_by("worker__pseudonym").values_list("worker__pseudonym", "withdrawn_reason"))


def _single(campaign: Campaign) -> str | None:
    """Return the kind of question of a campaign whose pairs are single questions; None if pairs are on
    pages."""
    kind = only_kind(campaign.tasks)
    return kind.key if kind is not None and kind.about == ABOUT_PAIR else None


def pair_judgments(campaign: Campaign) -> Iterator[PairJudgment]:
    """Yield all judgments of a campaign of pairs that are not withdrawn, in order of arrival, of any
    judge."""
    captions = _Captions(campaign)
    rows = Judgment.objects.filter(campaign=campaign, withdrawn=False, flag="", image__isnull=False)
    single = _single(campaign) is not None
    columns = ("id", "worker__pseudonym", "image__image", "key", "answer", "content")
    after = 0
    while page := list(rows.filter(id__gt=after).order_by("id").values_list(*columns)[:_PAGE]):
        after = page[-1][0]
        if single:
            captions_in_order = captions.named([key.split("|", 2)[2] for *_, key, _, _ in page])
            for (number, judge, image, _, answer, _), judged_pair in zip(
                page, captions_in_order, strict=True
            ):
                yield PairJudgment(image, judged_pair, judge, int(answer), ROLE_WANTED, number)
            continue
        captions.read(
            caption[0] for *_, content in page for block in content["blocks"] for caption in block["captions"]
        )
        for number, judge, _, _, _, content in page:
            for block in content["blocks"]:
                for caption, role, yes in zip(block["captions"], block["roles"], block["yes"], strict=True):
                    if PAGE_ROLES[role] != ROLE_CONTROL:
                        judged_pair = captions.at(*caption)
                        yield PairJudgment(
                            block["image"], judged_pair, judge, int(yes), PAGE_ROLES[role], number
                        )


def selected_pairs(campaign: Campaign) -> Iterator[tuple[int, int, str]]:
    """Yield the pairs of a campaign of pairs: ids of image and caption, and their role, without
    duplicates."""
    captions = _Captions(campaign)
    kind = _single(campaign)
    for images in _opened_images(campaign):
        if kind is not None:
            tasks = Task.objects.filter(campaign=campaign, image__in=images, kind=kind).order_by("id")
            rows = tasks.values_list("image__image", "key")
            names = captions.named([key.split("|", 2)[2] for _, key in rows])
            for (image, _), caption in zip(rows, names, strict=True):
                yield image, caption, ROLE_WANTED
            continue
        items = Item.objects.filter(task__campaign=campaign, task__image__in=images).order_by("id")
        contents = list(items.values_list("content", flat=True))
        captions.read(image for content in contents for image, _ in content["captions"])
        for content in contents:
            for caption_index, number in zip(content["captions"], content["roles"], strict=True):
                yield content["image"], captions.at(*caption_index), PAGE_ROLES[number]


def captions_named(campaign: Campaign, names: Sequence[str]) -> list[int]:
    """Return the captions (ids of rows) with these names, KEY#INDEX, in the campaign's corpus."""
    return _Captions(campaign).named(names)


def page_filling(campaign: Campaign) -> Filling:
    """Return how full the stored pages of a campaign of pairs are; graded pairs have none."""
    if _single(campaign) is not None:
        return Filling()
    pages = (
        [[PAGE_ROLES[role] for role in content["roles"]] for _, content in blocks]
        for images in _opened_images(campaign)
        for _, blocks in groupby(
            Item.objects.filter(task__campaign=campaign, task__image__in=images)
            .order_by("task", "position")
            .values_list("task", "content"),
            key=itemgetter(0),
        )
    )
    return filling_of(pages, settings_of(campaign.settings).page)


def _opened_images(campaign: Campaign) -> Iterator[list[int]]:
    """Yield the open images of a campaign (ids of rows) in batches.

    They lead to its tasks: no index leads from a campaign to settled ones, and all campaigns' would be read.
    """
    rows = OpenImage.objects.filter(campaign=campaign).order_by("pk").values_list("pk", flat=True)
    return chunks(rows.iterator(_PAGE), _PAGE)


def what_counts(campaigns: Collection[int], *, answers: bool) -> list[Any]:
    """Return plain data that is the same as long as the same people and judgments of `campaigns` count.

    With `answers` it changes with every answer too. A withdrawal goes image by image, so the withdrawn
    judgments are counted; the newest audit line prevents older data from recurring.
    """
    people = TrustState.objects.filter(campaign__in=campaigns).order_by("id")
    judgments = Judgment.objects.filter(campaign__in=campaigns).order_by("campaign").values("campaign")
    counts = judgments.annotate(gone=Count("id", filter=Q(withdrawn=True)), newest=Max("id"))
    acts = AuditEntry.objects.filter(campaign__in=campaigns).order_by("campaign").values("campaign")
    return [
        list(people.values_list("id", "worker", "blocked", "withdrawn_at", "since")),
        list(people.filter(state=SUSPENDED).values_list("id")),
        list(acts.annotate(newest=Max("id")).values_list("campaign", "newest")),
        list(counts.values_list("campaign", "gone", *(["newest"] if answers else []))),
        list(people.values_list("known", "right")) if answers else [],
    ]


def seconds_an_answer(campaign: Campaign) -> float | None:
    """Return the mean seconds of an answer, without those of the test.

    None if nobody answered, and if it is below LEAST_SECONDS: a simulated crowd answers in no time, and would
    give a price of nothing.
    """
    lines = [line for line in earned(campaign) if line.role != TEST_ROLE]
    answers = sum(line.answers for line in lines)
    seconds = sum(line.seconds for line in lines) / answers if answers else 0.0
    return seconds if seconds >= LEAST_SECONDS else None


class _Captions:
    """Captions by image and index, of the images that were read."""

    def __init__(self, campaign: Campaign) -> None:
        self._corpus = campaign.corpus_id
        self._of: dict[int, list[int]] = {}
        self._image: dict[str, int] = {}

    def read(self, images: Iterable[int]) -> None:
        """Read the captions of these images (ids of rows), unless they were read before."""
        for new in chunks(set(images).difference(self._of), _PAGE):
            self._of.update((image, []) for image in new)
            rows = Caption.objects.filter(image__in=new).order_by("image", "number")
            for image, pk in rows.values_list("image", "pk"):
                self._of[image].append(pk)

    def at(self, image: int, index: int) -> int:
        """Return the caption (id of its row) at an index, from 0, of an image that was read."""
        return self._of[image][index]

    def named(self, names: Sequence[str]) -> list[int]:
        """Return the captions with these names, KEY#INDEX: the key of an image and an index among its
        captions."""
        places = [(key, int(index)) for key, _, index in (name.rpartition("#") for name in names)]
        for new in chunks({key for key, _ in places}.difference(self._image), _PAGE):
            rows = Image.objects.filter(corpus=self._corpus, key__in=new)
            self._image.update(rows.values_list("key", "pk"))
        self.read(self._image[key] for key, _ in places)
        return [self.at(self._image[key], index) for key, index in places]
