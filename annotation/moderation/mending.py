"""Mending the phrases of open images: of one image by hand, or of all by a rule; with a forecast of the cost.

A mend is a ruling (`moderation.rulings`): stored with its author and reason, in the audit, and withdrawn like
any other. Source: Plummer et al. 2015, section 2.3, "Additional Review".
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Annotated, NamedTuple

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.common import database
from annotation.common.operations import FieldError, Help, OneOf, OperationContext, invalid
from annotation.models import Account, Campaign, Caption, Control, Flag, OpenImage
from annotation.moderation import control_items, rulings
from annotation.moderation.reviewing import ImageKey, Mentions
from annotation.moderation.rulings import CannotRule
from annotation.protocol.campaign_settings import CampaignSettings, settings_of
from annotation.protocol.contents import mention_from
from annotation.protocol.image import Fold
from annotation.protocol.kinds import answer_time_of, kind_of
from annotation.protocol.mending import forecast_mend
from annotation.protocol.mentions import mentions_at
from annotation.protocol.money import Amount, amount_text, rounded_amount
from annotation.protocol.phrase_rules import CATEGORISE, CUT, JOIN, REMOVE, PhraseRule, proposed_span
from annotation.protocol.rng import SeededRng
from annotation.protocol.rulings import Phrases, Ruling, UnrelatedCaption, mended
from annotation.protocol.terms import CATEGORIES, Mention
from annotation.protocol.trust_settings import in_force
from annotation.queue import image_state
from annotation.selectors import review
from annotation.selectors.campaign.cost import costs
from annotation.selectors.controls import control_metadata_of
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.workers.choosing import RowNumber

#: A phrase as people and programs write it: where it is, and its categories and noun if these are to change.
_PHRASE = re.compile(r"([0-9]{1,5}):([0-9]{1,5})-([0-9]{1,5})(?:=([a-z/]+))?(?:@(\S+))?")
#: Number of images on which the forecast of a rule is based, and of rehearsals in all.
SAMPLED_IMAGES = 40
_REHEARSALS = 40
#: Number of kinds of change that a preview has.
_SHOWN_CHANGES = 50
#: Number of images that are read at a time.
_TOGETHER = 500

_ACTS = {
    CATEGORISE: gettext_lazy("give phrases that end with these words these categories"),
    REMOVE: gettext_lazy("phrases that end with these words are none"),
    JOIN: gettext_lazy("these words belong into one phrase, with the phrases that they are part of"),
    CUT: gettext_lazy("exactly these words are a phrase"),
}
RuleAct = Annotated[str, OneOf(lambda: _ACTS)]
Category = Annotated[str, OneOf(lambda: dict.fromkeys(CATEGORIES))]
_Phrase = Annotated[str, Field(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewMendRequest(CampaignRequest):
    """What a change of an image's phrases would ask again. Answers to unchanged questions keep counting."""

    image: Annotated[ImageKey, Help(gettext_lazy("Image"), gettext_lazy("Its key in the corpus"))]
    remove: Annotated[
        Mentions, Help(gettext_lazy("Remove"), gettext_lazy("Phrases that are none, as 0:3-5"))
    ] = ()
    add: Annotated[
        tuple[_Phrase, ...],
        Field(max_length=200),
        Help(
            gettext_lazy("Add"),
            gettext_lazy(
                "New phrases, and others that change, as 0:3-6, 0:3-6=other or 0:3-6=people/clothing@man"
            ),
        ),
    ] = ()
    unrelated: Annotated[
        tuple[Annotated[int, Field(ge=0, le=32_767)], ...],
        Field(max_length=100),
        Help(
            gettext_lazy("Unrelated captions"),
            gettext_lazy(
                "Captions (from 0) that do not describe the picture: their phrases are not asked about"
            ),
        ),
    ] = ()

    def problems(self) -> Iterator[FieldError]:
        """Yield errors of phrases in a wrong notation."""
        for number, text in enumerate(self.add):
            match = _PHRASE.fullmatch(text)
            if match is None:
                yield FieldError(f"add.{number}", "phrase", {"value": text})
                continue
            for name in (match[4] or "").split("/"):
                if name and name not in CATEGORIES:
                    params = {"kind": _("category"), "value": name, "known": ", ".join(CATEGORIES)}
                    yield FieldError(f"add.{number}", "unknown_of", params)


@dataclass(frozen=True, slots=True, kw_only=True)
class MendPhrasesRequest(PreviewMendRequest):
    """Change the phrases of an image while people work. Questions about changed phrases are asked again; all
    other answers count as before, and those that no longer count stay stored and paid."""

    comment: Annotated[
        str,
        Field(max_length=1_000),
        Help(gettext_lazy("Comment"), gettext_lazy("The reason; it is stored with the ruling")),
    ] = ""
    report: Annotated[
        RowNumber | None,
        Help(gettext_lazy("Report"), gettext_lazy("The worker's report that this handles")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewPhraseRuleRequest(CampaignRequest):
    """What a rule would change in all images of a campaign, and what would be asked again."""

    words: Annotated[
        str,
        Field(min_length=1, max_length=200),
        Help(gettext_lazy("Words"), gettext_lazy("Such as “golf club”; upper and lower case are the same")),
    ]
    act: Annotated[RuleAct, Help(gettext_lazy("Rule"))] = CATEGORISE
    categories: Annotated[
        tuple[Category, ...],
        Field(max_length=len(CATEGORIES)),
        Help(gettext_lazy("Categories"), gettext_lazy("Of a new phrase: by default those of its words")),
    ] = ()
    whole: Annotated[
        bool,
        Help(gettext_lazy("Whole phrases"), gettext_lazy("Only phrases of exactly these words")),
    ] = False

    def problems(self) -> Iterator[FieldError]:
        """Yield an error if the fields do not fit the rule."""
        if not self.words.split():
            yield FieldError("words", "missing")
        if self.act == CATEGORISE and not self.categories:
            yield FieldError("categories", "missing")
        if self.act == REMOVE and self.categories:
            yield FieldError("categories", "not_with", {"other": f"act={REMOVE}"})
        if self.whole and self.act not in (CATEGORISE, REMOVE):
            yield FieldError("whole", "only_with", {"other": f"act={CATEGORISE}, act={REMOVE}"})

    def rule(self) -> PhraseRule:
        """Return the rule."""
        return PhraseRule(
            self.act, tuple(self.words.split()), tuple(dict.fromkeys(self.categories)), self.whole
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseRuleRequest(PreviewPhraseRuleRequest):
    """Mend the phrases of all images of a campaign by a rule: a ruling for each image that it changes.
    Repeating it finishes an interrupted run."""

    comment: Annotated[
        str,
        Field(max_length=1_000),
        Help(gettext_lazy("Comment"), gettext_lazy("The reason; it is stored with each ruling")),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MendPreview:
    """The consequences of a mend: how many phrases change, how many answers no longer count, which questions
    open at once, and how many answers, and how much money, that will probably take in the end (less than 0:
    saved).

    A rule's forecast is that of `sampled` images, for all of them. `phrases` has each kind of change (before,
    after, how often), the most frequent first.
    """

    images: int
    sampled: int
    removed: int
    added: int
    superseded: int
    opened: dict[str, int]
    answers: dict[str, int]
    cost: Amount
    currency: str
    phrases: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MendedImage:
    """An image after its phrases were changed: its rulings that did it, the number of open questions and of
    chains that wait for a reviewer, and the control items that were retired."""

    campaign: str
    image: str
    rulings: tuple[int, ...]
    questions: int
    waiting: int
    retired: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MendedImages:
    """The numbers of images and phrases that a rule changed, and of control items that were retired;
    `skipped` are images where the rule cannot be applied, each with the reason."""

    campaign: str
    images: int
    phrases: int
    retired: int
    skipped: dict[str, str]


def preview_mend(request: PreviewMendRequest, context: OperationContext) -> MendPreview:
    """Return what changing the phrases of an image would mean. Raises CannotRule, and Invalid if it is not
    open."""
    campaign = request.row()
    row = _open(campaign, request.image)
    return preview_of(row, asserted(row, request))


def preview_of(row: OpenImage, new: Sequence[Ruling]) -> MendPreview:
    """Return what these rulings on an open image would mean."""
    forecast = _Forecast(row.campaign)
    forecast.add(row, new, times=_REHEARSALS)
    for ruling in new:
        forecast.count(list(map(mention_from, row.mentions)), ruling)
    return forecast.preview(images=1)


def mend_phrases(request: MendPhrasesRequest, context: OperationContext) -> MendedImage:
    """Change the phrases of an image. Raises CannotRule, and Invalid if it is not open or has no such
    report."""
    campaign = request.row()
    row = _open(campaign, request.image)
    reports = Flag.objects.filter(judgment__campaign=campaign)
    if request.report is not None and not reports.filter(pk=request.report).exists():
        raise invalid("report", "unknown", kind=_("report"), value=request.report)
    with database.writing():
        done = make_mends(row, asserted(row, request), comment=request.comment, actor=context.actor)
        if request.report is not None:
            rulings.resolve_flag(campaign=campaign, flag=request.report, actor=context.actor)
    state = done[-1].state
    return MendedImage(
        campaign=campaign.name,
        image=request.image,
        rulings=tuple(mend.ruling.pk for mend in done),
        questions=len(state.questions),
        waiting=sum(chain.stage == "REVIEW" for chain in state.chains),
        retired=tuple(map(str, control_items.names_of_items(retired_by(done)))),
    )


def preview_phrase_rule(request: PreviewPhraseRuleRequest, context: OperationContext) -> MendPreview:
    """Return what a rule would change, and what that would cost."""
    campaign, rule = request.row(), request.rule()
    forecast = _Forecast(campaign)
    changes: dict[int, Phrases] = {}
    for row_id, _key, mentions, change in _changed_by(campaign, rule):
        forecast.count(mentions, change)
        changes[row_id] = change
    rng = SeededRng(campaign.seed, "phrase rule", request.words)
    sample = sorted(changes, key=lambda row: rng.uniform())[:SAMPLED_IMAGES]
    for row in OpenImage.objects.filter(pk__in=sample).select_related("image", "campaign").order_by("pk"):
        forecast.add(row, [changes[row.pk]], times=ceil(_REHEARSALS / len(sample)))
    return forecast.preview(images=len(changes))


def apply_phrase_rule(request: PhraseRuleRequest, context: OperationContext) -> MendedImages:
    """Apply a rule to every image that it changes, each in its own transaction."""
    campaign, rule = request.row(), request.rule()
    changed = [(item.row, item.key) for item in _changed_by(campaign, rule)]
    images = phrases = retired = 0
    skipped: dict[str, str] = {}
    for row_id, key in context.progress_of("mending images", len(changed))(changed):
        try:
            with database.writing():
                control_items.lock_campaigns([campaign.pk])
                locked = rulings.locked_for_ruling(row_id)
                stored = list(map(mention_from, locked.mentions))
                change = rule.mends(captions_in_words(locked), stored)
                if change is None:
                    continue
                done = make_mends(locked, [change], comment=request.comment, actor=context.actor)
        except CannotRule as error:
            skipped[key] = str(error)
            continue
        images += 1
        phrases += len({*change.removed, *(mention.id for mention in change.added)})
        retired += len(retired_by(done))
    return MendedImages(
        campaign=campaign.name, images=images, phrases=phrases, retired=retired, skipped=skipped
    )


def asserted(row: OpenImage, request: PreviewMendRequest) -> list[Ruling]:
    """Return the rulings of a request about an open image. Raises CannotRule if words or phrases do not
    exist, and Invalid if nothing is to change."""
    if not (request.remove or request.add or request.unrelated):
        raise invalid("add", "either", other="remove, unrelated")
    by_id = {mention.id: mention for mention in map(mention_from, row.mentions)}
    captions = captions_in_words(row)
    added = [phrase_at(text, captions, by_id) for text in request.add]
    try:
        phrases = [Phrases(tuple(request.remove), tuple(added))] if request.remove or added else []
    except ValueError:
        raise CannotRule(_("A phrase is named twice; name each once.")) from None
    new: list[Ruling] = [*phrases, *map(UnrelatedCaption, dict.fromkeys(request.unrelated))]
    for ruling in new:
        rulings.check_mend(row, ruling)
    rulings.check_apart(mended(by_id.values(), new), rulings.opened_mentions(row))
    return new


def make_mends(
    row: OpenImage, new: Sequence[Ruling], *, comment: str, actor: Account | None
) -> list[rulings.Ruled]:
    """Make these rulings about an open image, all or none."""
    with database.writing():
        return [
            rulings.make_ruling(image=row.pk, ruling=ruling, comment=comment, actor=actor) for ruling in new
        ]


def retired_by(done: Iterable[rulings.Ruled]) -> list[Control]:
    """Return the control items that rulings retired."""
    return [item for mend in done for item in mend.retired]


def proposal_of(report: Flag, row: OpenImage) -> tuple[Mention, Mention] | None:
    """Return the phrase that a worker reported as wrong, and the one that the comment proposes; None if it
    proposes none."""
    names = dict(row.judgments.values_list("name", "key"))
    captions = captions_in_words(row)
    by_id = {mention.id: mention for mention in map(mention_from, row.mentions)}
    for name in review.mentions_in(report.judgment.key, names):
        mention = by_id.get(name)
        if mention is None:
            continue
        span = proposed_span(captions[mention.caption], mention.span, report.comment)
        if span is not None:
            return mention, mentions_at(captions, [span])[0]
    return None


@dataclass
class _Forecast:
    """The consequences of mends of some images of a campaign."""

    campaign: Campaign
    images: int = 0
    removed: int = 0
    added: int = 0
    superseded: int = 0
    opened: Counter[str] = field(default_factory=Counter)
    answers: dict[str, float] = field(default_factory=dict)
    phrases: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.settings: CampaignSettings = settings_of(self.campaign.settings)
        self.known = control_metadata_of([self.campaign.pk])[self.campaign.pk].known

    def share(self, kind: str) -> float:
        """Return the probability that a question that one answer settles gets a second one."""
        rules = in_force(self.settings.trust, self.known[kind])
        return rules.double_check_share if kind_of(kind).comparable else 0.0

    def add(self, row: OpenImage, new: Sequence[Ruling], times: int) -> None:
        """Add the rulings `new` on an open image, rehearsed this number of times."""
        before, judgments = image_state.stored_fold(row)
        if not isinstance(before, Fold):
            raise CannotRule(_("This campaign does not ask about phrases."))
        after = Fold(rulings.opened_mentions(row), before.settings, [*rulings.rulings_in_force(row), *new])
        self.images += 1
        size = (row.image.width, row.image.height)
        forecast = forecast_mend(
            before,
            after,
            judgments,
            image=row.image.key,
            size=size,
            seed=self.campaign.seed,
            share=self.share,
            times=times,
        )
        self.superseded += len(forecast.superseded)
        self.opened.update(question.kind for question in forecast.opened)
        for kind, number in forecast.answers.items():
            self.answers[kind] = self.answers.get(kind, 0.0) + number

    def count(self, mentions: Sequence[Mention], change: Ruling) -> None:
        """Count the phrases of an image that a mend changes."""
        before = {mention.id: mention for mention in mentions}
        after = {mention.id: mention for mention in mended(mentions, [change])}
        for name in before.keys() & after.keys():
            if before[name] != after[name]:
                self.phrases[_in_words(before[name]), _in_words(after[name])] += 1
                self.removed, self.added = self.removed + 1, self.added + 1
        gone = [before[name] for name in before if name not in after]
        new = [after[name] for name in after if name not in before]
        if gone or new:
            self.phrases[" + ".join(map(_in_words, gone)), " + ".join(map(_in_words, new))] += 1
        self.removed, self.added = self.removed + len(gone), self.added + len(new)

    def preview(self, images: int) -> MendPreview:
        """Return the sums, scaled to this number of images."""
        scale = images / self.images if self.images else 0.0
        so_far = costs(self.campaign, self.settings.pay)
        micros = 0.0
        for kind, number in self.answers.items():
            of_kind = so_far.kinds.get(kind)
            pay = of_kind.pay / of_kind.answers if of_kind is not None and of_kind.answers else None
            if pay is None:
                pay = self.settings.pay.amount(kind, answer_time_of(kind).seconds)
            extra = self.settings.trust.control_share if kind_of(kind).strata else 0.0
            micros += number * scale * pay * (1 + extra)
        return MendPreview(
            images=images,
            sampled=self.images,
            removed=self.removed,
            added=self.added,
            superseded=round(self.superseded * scale),
            opened={kind: round(number * scale) for kind, number in self.opened.items()},
            answers={kind: n for kind, number in self.answers.items() if (n := round(number * scale))},
            cost=amount_text(rounded_amount(round(micros), so_far.currency), so_far.currency),
            currency=so_far.currency,
            phrases=tuple((*words, number) for words, number in _most_frequent(self.phrases)),
        )


def _most_frequent(phrases: Counter[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    return sorted(phrases.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN_CHANGES]


def _in_words(mention: Mention) -> str:
    noun = f"@{mention.noun}" if mention.noun else ""
    return f"{mention.text} ({'/'.join(mention.categories)}{noun})"


class _RuleChange(NamedTuple):
    """What a rule changes in an open image, by its id and its image's key."""

    row: int
    key: str
    mentions: list[Mention]
    change: Phrases


def _changed_by(campaign: Campaign, rule: PhraseRule) -> Iterator[_RuleChange]:
    """Yield what a rule changes in the open images of a campaign, in their order."""
    rows = OpenImage.objects.filter(campaign=campaign).order_by("pk")
    word = max(rule.words, key=len)
    if word.isascii():  # SQLite ignores the case of these letters only
        holds = Q(text__icontains=word) | Q(tokens__icontains=word)
        rows = rows.filter(Exists(Caption.objects.filter(holds, image=OuterRef("image"))))
    after = 0
    while page := list(
        rows.filter(pk__gt=after).values_list("pk", "image__key", "image", "mentions")[:_TOGETHER]
    ):
        captions = _captions([image for _, _, image, _ in page]) if rule.reads_captions else {}
        for row, key, image, stored in page:
            mentions = [mention_from(fields) for fields in stored]
            change = rule.mends([caption.words for caption in captions.get(image, ())], mentions)
            if change is not None:
                yield _RuleChange(row, key, mentions, change)
        after = page[-1][0]


def captions_in_words(row: OpenImage) -> list[list[str]]:
    """Return the words of each caption of an open image."""
    return [caption.words for caption in _captions([row.image_id])[row.image_id]]


def _captions(images: Sequence[int]) -> Mapping[int, list[Caption]]:
    """Return the captions of images (ids), in order; at most `_TOGETHER` images."""
    captions: dict[int, list[Caption]] = {image: [] for image in images}
    for caption in Caption.objects.filter(image__in=images).order_by("image", "number"):
        captions[caption.image_id].append(caption)
    return captions


def phrase_at(text: str, captions: Sequence[Sequence[str]], by_id: Mapping[str, Mention]) -> Mention:
    """Return the phrase of a notation; what it does not say is as before, or as its words have it."""
    match = _PHRASE.fullmatch(text)
    assert match is not None
    caption, start, end = (int(match[number]) for number in (1, 2, 3))
    if caption >= len(captions) or not start < end <= len(captions[caption]):
        raise CannotRule(_("The image has no words at %(name)s.") % {"name": text})
    mention = by_id.get(f"{caption}:{start}-{end}") or mentions_at(captions, [(caption, start, end)])[0]
    if match[4]:
        mention = replace(mention, categories=tuple(dict.fromkeys(match[4].split("/"))))
    if match[5]:
        if match[5] not in mention.tokens:
            raise CannotRule(
                _("“%(noun)s” is no word of “%(phrase)s”.") % {"noun": match[5], "phrase": mention.text}
            )
        last = match[5] == mention.tokens[-1]
        mention = replace(mention, noun="" if last else match[5])
    return mention


def _open(campaign: Campaign, key: str) -> OpenImage:
    try:
        return review.open_image(campaign=campaign.pk, key=key)
    except review.NoSuchImage:
        raise invalid("image", "unknown", kind=_("open image"), value=key) from None
