"""The steps of a draft: each is shown, stored as entered, and checked; the last one opens the campaign."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation import jobs
from annotation.campaigns.choosing import ENTITIES
from annotation.campaigns.drafts import fields, keeping
from annotation.campaigns.drafts.answer_times import AnswerTime
from annotation.campaigns.drafts.estimate import estimate_draft, hourly_rate
from annotation.campaigns.drafts.marks import purposes_of, strata_of_marks
from annotation.campaigns.drafts.opening import open_draft
from annotation.campaigns.drafts.posing import posed_without_boxes
from annotation.campaigns.drafts.readiness import can_open, readiness
from annotation.campaigns.drafts.reading import (
    PILOT_IMAGES,
    SUGGESTED_HOURLY,
    DraftPlan,
    known_sources,
    marked_kinds,
    read_draft,
)
from annotation.campaigns.setting_fields import ITEM_PAY
from annotation.common.roles import RESEARCHER
from annotation.models import Corpus
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.kinds import all_tasks, kind_of, kinds_of_tasks
from annotation.protocol.money import currency_digits
from annotation.selectors.corpora import corpora_of, split_names
from annotation.selectors.tags.stored import tag_list_of
from annotation.task_types.base import TASK_TYPES, TranslatableText
from annotation.task_types.displayed import DisplayedImage
from annotation.task_types.practice import PRACTICE, practice_scene
from annotation.task_types.practice.scenes import SCENE_DESCRIPTIONS
from annotation.web.common.access import account_of
from annotation.web.common.request_forms import TypedForm, setting_field
from annotation.web.drafts.draft_pages import draft_frame, for_draft
from annotation.web.staff.wording import PURPOSES, answer_in_words, kind_in_words

#: Targets of a step's form besides other steps: the same page, or the campaign.
STAY, OPEN_NOW = "stay", "open-now"
#: The chain has tasks of several kinds, which no single type describes.
_CHAIN_TITLE = gettext_lazy("Phrases and boxes")
_CHAIN_SAYS = gettext_lazy(
    "Which phrases of the captions refer to the same thing, and where it is in the picture. Six small "
    "questions, each asked as the answers before it require."
)
_CHAIN_YIELDS = gettext_lazy("chains of phrases, each with its boxes, as in Flickr30k Entities")


@dataclass(frozen=True, slots=True)
class TasksCard:
    """The tasks of a campaign, as a card: a sample picture, the work, and its result."""

    tasks: str
    title: TranslatableText
    says: TranslatableText
    yields: TranslatableText
    picture: DisplayedImage | None
    kinds: tuple[TranslatableText, ...]
    chosen: bool


@dataclass(frozen=True, slots=True)
class PayRow:
    """A kind of question: its pay, seconds per answer, and the resulting hourly rate."""

    kind: str
    name: TranslatableText
    field: forms.BoundField
    answer_time: AnswerTime
    hourly: float
    slow: float
    fast: float


@dataclass(frozen=True, slots=True)
class MarkedRow:
    """A kind of question with hand-marked items: their numbers, by purpose."""

    kind: str
    name: TranslatableText
    uses: tuple[tuple[str, TranslatableText, str], ...]
    derived: bool


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_draft
def draft_step(request: HttpRequest, plan: DraftPlan, step: str) -> HttpResponse:
    """Show one step. POST stores the input and continues where its button says; "next" stays on a step with
    errors."""
    if step not in fields.STEPS:
        raise Http404(_("There is no step “%(step)s”.") % {"step": step[:40]})
    status, tried = HTTPStatus.OK, request.method == "POST"
    if request.method == "POST":
        _save(request, plan, step)
        plan = read_draft(plan.draft)
        go = request.POST.get("go", "")
        if go == OPEN_NOW:
            try:
                return _opened(request, plan)
            except (CampaignError, jobs.JobError) as error:
                messages.error(request, str(error))
                return redirect("draft_step", plan.draft.pk, fields.OPEN_STEP)
        if go in fields.STEPS:
            return redirect("draft_step", plan.draft.pk, go)
        problems = plan.problems_of(step)
        if not problems and go != STAY:
            following = fields.STEPS[min(fields.STEPS.index(step) + 1, len(fields.STEPS) - 1)]
            return redirect("draft_step", plan.draft.pk, following)
        if not problems:
            return redirect("draft_step", plan.draft.pk, step)
        status = HTTPStatus.CONFLICT
    # Empty fields that nobody has filled in yet show no errors.
    show_problems = tried or any(name in plan.draft.fields for name in plan.problems_of(step))
    wrongs = plan.problems_of(step) if show_problems else {}
    form = _step_form(plan, step, wrongs)
    return render(
        request,
        f"annotation/drafts/{step}.html",
        draft_frame(
            plan,
            step,
            wrongs=wrongs,
            saves=step != fields.PREVIEW_STEP,
            form=form,
            **_ABOUT[step](request, plan, form),
        ),
        status=status.value,
    )


def _step_form(plan: DraftPlan, step: str, wrongs: Mapping[str, str]) -> TypedForm:
    """Return the fields of a step, with their input."""
    form_fields: dict[str, forms.Field] = {}
    if step == fields.CORPUS_STEP:
        splits = [name for name in split_names(plan.corpus) if name] if plan.corpus is not None else []
        choices = [("", _("all images")), *((name, name) for name in splits)]
        form_fields = {
            "name": _text(_("Name"), _("Letters, digits, - and _. The campaign’s layer gets the same name.")),
            "images": _text(_("Images at most"), _("Empty: all of them.")),
            "split": forms.Field(label=_("Only the split"), widget=forms.Select(choices=choices)),
            "tags": _text(
                _("Only images with these tags"),
                _(
                    "One query a line, for example: frisbee and dog. The images are drawn by chance, the "
                    "same number for each line."
                ),
                rows=3,
            ),
        }
    if step == fields.PAY_STEP:
        unpaid = _("Unpaid work is meant: answers without pay earn nothing")
        form_fields["unpaid"] = forms.Field(label=unpaid, widget=forms.CheckboxInput({"value": "yes"}))
    values = plan.settings.as_dict()
    for setting in fields.settings_by_step(plan.tasks).get(step, ()):
        form_fields[setting.name] = setting_field(setting, setting.of(values))
    for field in form_fields.values():
        field.required = False
    start = {name: field.initial for name, field in form_fields.items() if field.initial is not None}
    return TypedForm(form_fields, {**start, **plan.draft.fields}, wrongs)


def _text(label: str, help_text: str, *, rows: int = 0) -> forms.Field:
    attributes: dict[str, Any] = {"autocapitalize": "none", "spellcheck": "false", "autocomplete": "off"}
    widget = forms.Textarea(attributes | {"rows": rows}) if rows else forms.TextInput(attributes)
    return forms.Field(label=label, help_text=help_text, widget=widget)


def _save(request: HttpRequest, plan: DraftPlan, step: str) -> None:
    corpus: Corpus | None = None
    if step == fields.CORPUS_STEP:
        corpus = _corpora(request).filter(name=request.POST.get("corpus", "").replace("\0", "")).first()
    if step != fields.PREVIEW_STEP:
        keeping.save_step(
            draft=plan.draft, step=step, data=request.POST.dict(), tasks=plan.tasks, corpus=corpus
        )


def _opened(request: HttpRequest, plan: DraftPlan) -> HttpResponse:
    """Open the campaign of the draft and its images. Raises CampaignError and JobError."""
    actor = account_of(request)
    campaign = open_draft(
        draft=plan.draft,
        enqueue=lambda row, arguments: jobs.enqueue(
            kind="open_images", arguments=arguments, campaign=row, actor=actor
        ),
    )
    messages.success(request, _("Opening the images. The campaign opens after that."))
    return redirect("jobs", campaign.name)


def _corpora(request: HttpRequest) -> QuerySet[Corpus]:
    return corpora_of(account_of(request), RESEARCHER).filter(published=True).order_by("name")


def _of_corpus(request: HttpRequest, plan: DraftPlan, form: TypedForm) -> dict[str, Any]:
    return {
        "corpora": _corpora(request),
        "splits": len(form.fields["split"].widget.choices) > 1,
        "tagged": plan.corpus is not None and (tag_list_of(plan.corpus) is not None or bool(plan.tags)),
        "chosen": plan.chosen_images().count(),
    }


def _of_questions(request: HttpRequest, plan: DraftPlan, form: TypedForm) -> dict[str, Any]:
    return {"cards": _cards(plan.tasks)}


def _cards(chosen: str) -> list[TasksCard]:
    """Return a card for each possible choice of tasks, each with another scene of practice while they
    last."""
    cards, used = [], set[str]()
    for tasks in all_tasks():
        kinds, chain = kinds_of_tasks(tasks), tasks == ENTITIES
        task_type = TASK_TYPES.get(kinds[0])
        sample = next((kind for kind in kinds if kind_of(kind).draws), kinds[0])
        scenes = [item.scene for item in PRACTICE.get(sample).items] if sample in PRACTICE else []
        scene = next((name for name in (*scenes, *SCENE_DESCRIPTIONS) if name not in used), "")
        used.add(scene)
        cards.append(
            TasksCard(
                tasks,
                _CHAIN_TITLE if chain else task_type.title,
                _CHAIN_SAYS if chain else task_type.summary,
                _CHAIN_YIELDS if chain else task_type.yields,
                practice_scene(scene).image if scene else None,
                tuple(kind_in_words(kind) for kind in kinds) if len(kinds) > 1 else (),
                tasks == chosen,
            )
        )
    return cards


def _of_pay(request: HttpRequest, plan: DraftPlan, form: TypedForm) -> dict[str, Any]:
    for kind in plan.kinds:
        form.fields[f"{ITEM_PAY}{kind}"].widget.attrs["aria-labelledby"] = f"of-{kind}"
    return {
        "general": [form[f"pay.{name}"] for name in ("basis", "currency", "hourly")],
        "digits": currency_digits(plan.settings.pay.currency),
        "rows": [
            PayRow(
                kind,
                kind_in_words(kind),
                form[f"{ITEM_PAY}{kind}"],
                plan.answer_times[kind],
                *hourly_rate(plan, kind),
            )
            for kind in plan.kinds
        ],
        "suggested": SUGGESTED_HOURLY,
    }


def _of_test(request: HttpRequest, plan: DraftPlan, form: TypedForm) -> dict[str, Any]:
    there = strata_of_marks(plan)
    kinds = marked_kinds(plan.tasks)

    def counts_text(kind: str, purpose: str) -> str:
        counts: Mapping[str, int] = there.get((kind, purpose)) or {}
        return ", ".join(
            f"{answer_in_words(kind, answer)} {number}" for answer, number in sorted(counts.items())
        )

    return {
        "sources": known_sources(plan.corpus, plan.tasks, plan.split),
        "chained": plan.tasks == ENTITIES,
        "sentences": any(kind_of(kind).test_sentences is not None for kind in plan.kinds),
        "like": plan.like,
        "rows": [
            MarkedRow(
                kind,
                kind_in_words(kind),
                tuple(
                    (purpose, PURPOSES[purpose], counts_text(kind, purpose)) for purpose in purposes_of(kind)
                ),
                posed_without_boxes(plan, kind),
            )
            for kind in kinds
        ],
    }


def _of_votes(request: HttpRequest, plan: DraftPlan, form: TypedForm) -> dict[str, Any]:
    return {
        "votes": [field for field in form if not field.name.startswith("stop.")],
        "stops": [field for field in form if field.name.startswith("stop.")],
    }


def _of_preview(request: HttpRequest, plan: DraftPlan, form: TypedForm) -> dict[str, Any]:
    return {"types": [TASK_TYPES.get(kind) for kind in plan.kinds]}


def _of_opening(request: HttpRequest, plan: DraftPlan, form: TypedForm) -> dict[str, Any]:
    lines = readiness(plan)
    estimate = estimate_draft(plan, pilot=PILOT_IMAGES)
    return {
        "lines": lines,
        "ready": can_open(lines),
        "estimate": estimate,
        "by_kind": [
            (kind_in_words(kind), estimate.by_kind[kind], plan.answer_times[kind]) for kind in plan.kinds
        ]
        if estimate
        else [],
        "currency": plan.settings.pay.currency,
        "digits": f"{currency_digits(plan.settings.pay.currency)}g",
        "pilot_images": PILOT_IMAGES,
        "pilots": estimate is not None and estimate.images > PILOT_IMAGES,
        "crowd": plan.crowd_size(),
    }


_ABOUT: dict[str, Callable[[HttpRequest, DraftPlan, TypedForm], dict[str, Any]]] = {
    fields.CORPUS_STEP: _of_corpus,
    fields.QUESTIONS_STEP: _of_questions,
    fields.PAY_STEP: _of_pay,
    fields.TEST_STEP: _of_test,
    fields.VOTES_STEP: _of_votes,
    fields.PREVIEW_STEP: _of_preview,
    fields.OPEN_STEP: _of_opening,
}
