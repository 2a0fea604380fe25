"""Requests about a campaign before it is opened: its plan and its estimate."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.estimate import DraftEstimate, Range, estimate_draft
from annotation.campaigns.drafts.readiness import ReadinessLine, can_open, readiness
from annotation.campaigns.drafts.reading import PILOT_IMAGES, DraftPlan, read_draft
from annotation.common.operations import (
    FieldError,
    Help,
    Invalid,
    Named,
    OneOf,
    OperationContext,
    invalid,
    result_of,
)
from annotation.models import Campaign, CampaignDraft, Corpus
from annotation.protocol.campaign_settings import settings_of, settings_of_tasks
from annotation.protocol.kinds import all_tasks
from annotation.protocol.money import amount_text, rounded_amount
from annotation.protocol.rehearsal import CrowdSize
from annotation.protocol.work import MICROS
from annotation.selectors.corpora import CAMPAIGNS, CORPORA

#: Fields that are checked before a campaign is created; services check the others.
_CHECKED = ("split", "tags", "known")


def _tasks() -> dict[str, None]:
    return dict.fromkeys(all_tasks())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCampaignRequest:
    """What is missing, and the estimated hours and money, with intervals. Nothing is opened. For questions
    about chains, the protocol is rehearsed on some images."""

    name: Annotated[str, Named(), Help(_("Name"), _("Its layer gets the same name"))]
    corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None, Help(_("Corpus"), _("By default that of the other campaign"))
    ] = None
    tasks: Annotated[
        Annotated[str, OneOf(_tasks)] | None, Help(_("Tasks"), _("By default those of the other campaign"))
    ] = None
    like: Annotated[
        Annotated[str, Named(CAMPAIGNS)] | None,
        Help(_("Like"), _("Another campaign, whose settings, texts and control items are taken")),
    ] = None
    campaign_settings: Annotated[
        dict[str, Any] | None,
        Help(_("Settings"), _("Those that differ from the defaults; they can be changed later")),
    ] = None
    split: Annotated[
        Annotated[str, Field(min_length=1, max_length=40)] | None, Help(_("Split"), _("Only its images"))
    ] = None
    images: Annotated[
        Annotated[int, Field(ge=1, lt=10**9)] | None,
        Help(_("Images at most"), _("The first ones; more may be opened later")),
    ] = None
    tags: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[^\r\n]+$", max_length=200)], ...],
        Field(max_length=50),
        Help(
            _("Only images with these tags"),
            _("As frisbee and dog. They are drawn by chance, the same number for each query"),
            lines=3,
            only_commas=True,
        ),
    ] = ()
    known: Annotated[
        Annotated[str, Field(min_length=1, max_length=100)] | None,
        Help(
            _("Gold answers"),
            _(
                "Control items and an entry test are made of this: a layer that is taken for the truth, or, "
                "of questions about pairs, a split that is not asked about"
            ),
        ),
    ] = None
    open_to_all: Annotated[
        bool, Help(_("Open to all"), _("Every annotator of the server may work on it"))
    ] = False
    unpaid: Annotated[
        bool,
        Help(_("Unpaid work is intended"), _("Where some kind of question would earn nothing")),
    ] = False
    pilot: Annotated[bool, Help(_("Pilot"), _("On 20 images first"))] = False

    def problems(self) -> Iterator[FieldError]:
        """Errors: the tasks, or a campaign to copy, are required."""
        for name in ("corpus", "tasks"):
            if self.like is None and getattr(self, name) is None:
                yield FieldError(name, "missing")
        trust = (self.campaign_settings or {}).get("trust", {})
        if self.known is not None and isinstance(trust, Mapping) and trust.get("qualification") is False:
            yield FieldError("known", "test_is_off")

    def like_row(self) -> Campaign | None:
        """Return the campaign to copy; it exists, since the request was authorised."""
        return None if self.like is None else Campaign.objects.select_related("corpus").get(name=self.like)

    def corpus_row(self) -> Corpus:
        """Return the corpus."""
        like = self.like_row()
        if self.corpus is None and like is not None:
            return like.corpus
        return Corpus.objects.get(name=self.corpus, published=True)

    def tasks_to_ask(self) -> str:
        """Return the tasks."""
        like = self.like_row()
        return self.tasks or (like.tasks if like is not None else "")

    def settings(self) -> dict[str, Any]:
        """Return the settings, including the test that `known` provides."""
        like = self.like_row()
        settings = self.campaign_settings
        if settings is None:
            settings = like.settings if like is not None else {}
        trust = settings.get("trust", {})
        if self.known is None or not isinstance(trust, Mapping):  # rejected when settings are read
            return settings
        return {**settings, "trust": {**trust, "qualification": True}}


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountRange:
    """An amount as a decimal number in a string, with its 95 % interval."""

    value: str
    low: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEstimate:
    """The estimate of a campaign, with 95 % intervals. `sampled`: the number of images in the rehearsal, 0
    if everything is counted; `guessed`: their chains were guessed from their captions. The test is not
    paid and not included."""

    images: int
    answers: Range
    hours: Range
    cost: AmountRange
    currency: str
    by_kind: dict[str, float]
    pilot_images: int
    pilot_cost: str
    sampled: int
    guessed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCampaign:
    """The plan of a campaign, and whether it can be opened: not while a line is `missing`. Without images it
    has no estimate."""

    ready: bool
    workers: CrowdSize
    readiness: tuple[ReadinessLine, ...]
    estimate: PlanEstimate | None


def plan_campaign(request: PlanCampaignRequest, context: OperationContext) -> PlannedCampaign:
    """Return the plan of a campaign. Raises CampaignError."""
    plan = draft_plan(request, context)
    lines, estimate = readiness(plan), estimate_draft(plan, pilot=PILOT_IMAGES)
    return PlannedCampaign(
        ready=can_open(lines),
        workers=plan.crowd_size(),
        readiness=tuple(lines),
        estimate=_estimate(estimate, plan.settings.pay.currency) if estimate is not None else None,
    )


def draft_plan(request: PlanCampaignRequest, context: OperationContext) -> DraftPlan:
    """Return a request's content in the form of a draft; nothing is stored. Raises CampaignError."""
    tasks = request.tasks_to_ask()
    settings = settings_of_tasks(tasks, request.settings())
    entry = fields.ENTRY_PRACTICE if settings.trust.qualification else fields.ENTRY_NONE
    typed = {
        "name": request.name,
        "tasks": tasks,
        "split": request.split or "",
        "images": str(request.images or ""),
        "tags": "\n".join(request.tags),
        "entry": entry if request.known is None else fields.ENTRY_KNOWN,
        "known": request.known or "",
        **{name: "yes" if getattr(request, name) else "" for name in ("unpaid", "pilot", "open_to_all")},
    }
    draft = CampaignDraft(
        pk=0,  # no row's id: estimates use it as a seed
        owner=context.actor,
        corpus=request.corpus_row(),
        like=request.like_row(),
        fields=typed,
        settings=settings.as_dict(),
    )
    return read_draft(draft)


def check_plan(request: PlanCampaignRequest, plan: DraftPlan) -> None:
    """Raise Invalid if the request names images or a source of the test that do not exist, or if some
    kind would earn nothing without confirmation."""
    invalid_settings = {name: plan.problems[name] for name in _CHECKED if name in plan.problems}
    if invalid_settings:
        raise Invalid(
            *(FieldError(name, "wrong", {"message": text}) for name, text in invalid_settings.items())
        )
    unpaid = settings_of(request.settings()).pay.unpaid(plan.kinds)
    if unpaid and not request.unpaid:
        raise invalid("unpaid", "unpaid", kinds=", ".join(unpaid))


def _estimate(estimate: DraftEstimate, currency: str) -> PlanEstimate:
    cost = {name: _amount(value, currency) for name, value in asdict(estimate.cost).items()}
    return result_of(
        PlanEstimate,
        estimate,
        cost=AmountRange(**cost),
        currency=currency,
        by_kind=dict(estimate.by_kind),
        pilot_images=estimate.pilot,
        pilot_cost=_amount(estimate.pilot_cost, currency),
    )


def _amount(value: float, currency: str) -> str:
    """Return currency units as a decimal string with the digits of the currency: an estimate is no more
    precise."""
    return amount_text(rounded_amount(round(value * MICROS), currency), currency)
