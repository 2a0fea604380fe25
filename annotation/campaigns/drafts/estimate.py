"""An estimate of a campaign: answers, hours and money, with intervals, before anybody is asked.

Questions that are only counted are counted. For questions about chains the protocol is rehearsed on some
images (`protocol.rehearsal`), a few more with each call, until there are enough; the interval is that of
their mean (95 %), widened by the uncertainty of the seconds. Not included are the test, which is not paid,
and the control items of the warm-up, which depend on the number of workers.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from math import ceil, fsum, sqrt
from statistics import fmean
from typing import Any

from django.db.models import Count, Max

from annotation.campaigns.choosing import ENTITIES
from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.answer_times import AnswerTime, student95
from annotation.campaigns.drafts.posing import layers_of_images
from annotation.campaigns.drafts.reading import DraftPlan
from annotation.common import database
from annotation.common.database import chunks
from annotation.models import CampaignDraft, Caption, Image, PhraseMarks
from annotation.protocol.campaign_settings import CampaignSettings
from annotation.protocol.controls import draw_number
from annotation.protocol.kinds import ABOUT_IMAGE, is_page, kind_of
from annotation.protocol.rehearsal import answers_for
from annotation.protocol.terms import NOT_VISUAL, LayerRecord
from annotation.protocol.trust_settings import GoldCoverage, in_force
from annotation.protocol.work import MICROS

#: Increase this when the sample stored with a draft is drawn differently.
_SAMPLE = 1
#: The number of images in the whole rehearsal; the seconds after which one call ends; and the number of
#: images that it processes at least.
LARGEST_REHEARSAL, SECONDS_A_LOOK, AT_ONCE = 30, 0.7, 4


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class DraftEstimate:
    """Answers, hours and money (currency units) for `images`, and for a pilot of `pilot` of them.

    `sampled`: the number of images in the rehearsal, 0 if everything is counted; `guessed`: their chains
    were guessed from their captions; `whole`: no images remain. `by_kind`: answers of each kind.
    """

    images: int
    answers: Range
    hours: Range
    cost: Range
    pilot: int
    pilot_cost: float
    by_kind: Mapping[str, float]
    sampled: int
    guessed: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class EstimateTerms:
    """The weights of answers: pay and shares of `settings`, and `answer_times` by kind."""

    kinds: tuple[str, ...]
    settings: CampaignSettings
    answer_times: Mapping[str, AnswerTime]

    def extra(self, kind: str) -> float:
        """Return the number of paid answers per answer on a task: control items of trusted workers come on
        top."""
        return 1 + (self.settings.trust.control_share if kind_of(kind).strata else 0.0)


def estimate_draft(plan: DraftPlan, *, pilot: int) -> DraftEstimate | None:
    """Return the estimate of a draft; None if it has no image. Stores its intermediate results with the
    draft."""
    images = plan.chosen_images().count()
    if not images or plan.corpus is None:
        return None
    terms = EstimateTerms(plan.kinds, plan.settings, plan.answer_times)
    if plan.tasks != ENTITIES:
        return estimate_from(terms, images, [_counted(plan, images)], pilot=pilot)
    sample, guessed = _rehearsed(plan)
    if not sample:
        return None
    return estimate_from(terms, images, sample, pilot=pilot, sampled=len(sample), guessed=guessed)


def estimate_from(
    terms: EstimateTerms,
    images: int,
    sample: Sequence[Mapping[str, float]],
    *,
    pilot: int = 0,
    sampled: int = 0,
    guessed: bool = False,
    apart: bool = False,
) -> DraftEstimate:
    """Estimate sums over `images` from the answers of each image in a sample, by kind. If `sampled` is 0, the
    sample is the exact mean of all.

    `apart`: the sample has none of the `images`, but similar ones, such as those of a pilot.
    """
    extra = {kind: terms.extra(kind) for kind in terms.kinds}

    def of(weigh: Mapping[str, float]) -> tuple[float, float]:
        """Return the mean over images of a weighted sum of answers, and half of its interval."""
        per_image = [
            sum(weigh[kind] * extra[kind] * number for kind, number in counts.items() if kind in extra)
            for counts in sample
        ]
        # Of the images themselves the sampled ones are known exactly; others vary by themselves.
        share = len(per_image) / images
        left = sqrt(1 + share) if apart else sqrt(max(0.0, 1 - share))
        if not sampled or len(per_image) < 2:
            return fmean(per_image), 0.0
        mean = fmean(per_image)
        # statistics.stdev uses fractions, which took most of the time.
        deviation = sqrt(fsum((counts - mean) ** 2 for counts in per_image) / (len(per_image) - 1))
        return mean, left * student95(len(per_image) - 1) * deviation / sqrt(len(per_image))

    def over(weights: Sequence[Mapping[str, float]]) -> Range:
        (mean, _), (low, below), (high, above) = (of(per_image) for per_image in weights)
        return Range(images * mean, images * max(0.0, low - below), images * (high + above))

    answer_times = [
        {kind: reading.seconds for kind, reading in terms.answer_times.items()},
        {kind: reading.least for kind, reading in terms.answer_times.items()},
        {kind: reading.most for kind, reading in terms.answer_times.items()},
    ]
    pay = terms.settings.pay
    cost = over(
        [{kind: pay.amount(kind, s) / MICROS for kind, s in per_image.items()} for per_image in answer_times]
    )
    few = min(pilot, images)
    return DraftEstimate(
        images=images,
        answers=over([dict.fromkeys(terms.kinds, 1.0)] * 3),
        hours=over(
            [{kind: seconds / 3600 for kind, seconds in per_image.items()} for per_image in answer_times]
        ),
        cost=cost,
        pilot=few,
        pilot_cost=cost.value * few / images,
        by_kind={
            kind: images * extra[kind] * fmean([per_image.get(kind, 0.0) for per_image in sample])
            for kind in terms.kinds
        },
        sampled=sampled,
        guessed=guessed,
        whole=not sampled or sampled >= min(LARGEST_REHEARSAL, images),
    )


def _counted(plan: DraftPlan, images: int) -> dict[str, float]:
    """Return the average number of answers per image of the one kind that is asked: an exact count."""
    (kind,) = plan.kinds
    answers = plan.settings.answers.answers_needed(kind)
    needed = answers + (_second_share(plan, kind) if answers == 1 else 0.0)
    if kind_of(kind).about == ABOUT_IMAGE:
        return {kind: float(needed)}
    captions = Caption.objects.filter(image__in=plan.chosen_images().values("pk")).count()
    pairs = 2 * captions  # each image's own, and as many of others (`campaigns.counted.trial_pairs`)
    if not is_page(kind):
        return {kind: needed * pairs / images}
    page = plan.settings.page
    blocks = images * ceil(pairs / images / page.captions)
    return {kind: needed * ceil(blocks / (page.images - page.controls)) / images}


def _second_share(plan: DraftPlan, kind: str) -> float:
    """Return the probability that a question settled by one answer is drawn for a second one."""
    measured = plan.entry in (fields.ENTRY_KNOWN, fields.ENTRY_MARKED)
    share = in_force(plan.settings.trust, GoldCoverage(measured, measured)).double_check_share
    return share if kind_of(kind).comparable else 0.0


def _rehearsed(plan: DraftPlan) -> tuple[list[dict[str, float]], bool]:
    """Return the answers that some images take, by kind, and whether their chains are guessed; more images
    with each call."""
    assert plan.corpus is not None
    protocol = plan.settings.protocol
    # Phrases marked by hand meanwhile change the questions.
    by_hand = PhraseMarks.objects.filter(image__corpus=plan.corpus)
    marks = by_hand.aggregate(number=Count("pk"), newest=Max("marked_at"))
    shares = {kind: _second_share(plan, kind) for kind in plan.kinds}
    choice = [_SAMPLE, plan.corpus.pk, plan.split, plan.images, plan.tags, asdict(protocol), marks, shares]
    mark = blake2b(json.dumps(choice, sort_keys=True, default=str).encode(), digest_size=9).hexdigest()
    stored: dict[str, Any] = plan.draft.sample if plan.draft.sample.get("of") == mark else {}
    done: dict[str, dict[str, float]] = dict(stored.get("images", {}))
    guessed = bool(stored.get("guessed"))
    ids = list(plan.chosen_images().values_list("pk", flat=True))
    places = sorted(range(len(ids)), key=lambda index: draw_number("sample", plan.draft.pk, index))[
        :LARGEST_REHEARSAL
    ]
    missing = [ids[index] for index in places if str(ids[index]) not in done]
    began, new = time.monotonic(), 0
    for few in chunks(missing, AT_ONCE):
        if new >= AT_ONCE and time.monotonic() - began > SECONDS_A_LOOK:
            break
        rows = {row.key: row for row in Image.objects.filter(pk__in=few)}
        for record, layer, known in layers_of_images(plan, list(rows.values())):
            row = rows[record.id]
            questions = _to_ask(layer)
            settings = protocol.of_image(pictured=bool(row.picture))
            size = (record.width, record.height)
            gold = (record.id, size, questions)
            done[str(row.pk)] = answers_for(gold, settings, seed=plan.draft.pk, share=shares.__getitem__)
            guessed = not known
        for row in rows.values():  # nothing is asked about images that gold does not cover
            done.setdefault(str(row.pk), {})
        new += len(few)
    if new:
        sample = {"of": mark, "images": done, "guessed": guessed}
        with database.writing():
            CampaignDraft.objects.filter(pk=plan.draft.pk).update(sample=sample)
        plan.draft.sample = sample
    return list(done.values()), guessed


def _to_ask(layer: LayerRecord) -> LayerRecord:
    """Return the layer without mentions outside all chains: nothing is known about them."""
    return LayerRecord(
        tuple(chain for chain in layer.chains if chain.mentions and chain.id != NOT_VISUAL), layer.objects
    )


def hourly_rate(plan: DraftPlan, kind: str) -> tuple[float, float, float]:
    """Return the pay for an hour of answers of a kind, in currency units: at the usual, the slowest and the
    fastest speed."""
    pay, time = plan.settings.pay, plan.answer_times[kind]
    return (
        _hourly(pay.amount(kind, time.seconds), time.seconds),
        _hourly(pay.amount(kind, time.most), time.most),
        _hourly(pay.amount(kind, time.least), time.least),
    )


def _hourly(micros: int, seconds: float) -> float:
    return micros / MICROS * 3600 / seconds if seconds else 0.0
