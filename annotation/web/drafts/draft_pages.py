"""Common parts of the pages of drafts: the owner, the steps, and the preview of a task."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from annotation import instructions
from annotation.campaigns.drafts import fields
from annotation.campaigns.drafts.posing import PosedQuestion
from annotation.campaigns.drafts.reading import DraftPlan, read_draft
from annotation.common.roles import RESEARCHER
from annotation.instructions import CampaignText
from annotation.models import CampaignDraft, Worker
from annotation.protocol.kinds import kind_of
from annotation.queue.leases import Lease
from annotation.task_types.base import TASK_TYPES, BadAnswer, TaskType, TranslatableText
from annotation.task_types.displayed import DisplayedImage, displayed_image
from annotation.task_types.practice import PRACTICE
from annotation.web.annotator.practice import FixedPageType
from annotation.web.annotator.task_page import InvalidForm, TaskPage, WorkSoFar, build_task_page
from annotation.web.annotator.work_context import WorkContext
from annotation.web.common.access import account_of, for_roles

_P = ParamSpec("_P")
STEP_TITLES: dict[str, TranslatableText] = {
    fields.CORPUS_STEP: gettext_lazy("Corpus"),
    fields.QUESTIONS_STEP: gettext_lazy("Questions"),
    fields.PAY_STEP: gettext_lazy("Pay"),
    fields.TEST_STEP: gettext_lazy("Entry test"),
    fields.VOTES_STEP: gettext_lazy("Votes and stop rules"),
    fields.PREVIEW_STEP: gettext_lazy("Preview"),
    fields.OPEN_STEP: gettext_lazy("Check and open"),
}


@dataclass(frozen=True, slots=True)
class StepInList:
    """A step in the list of steps: its title, whether it is the current one, whether it has errors."""

    key: str
    title: TranslatableText
    here: bool
    has_problems: bool


def for_draft(
    view: Callable[Concatenate[HttpRequest, DraftPlan, _P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Permit a view to researchers for their own drafts; the view gets the draft's plan."""

    @wraps(view)
    def guarded(request: HttpRequest, draft: int, *args: Any, **kwargs: Any) -> HttpResponseBase:
        row = CampaignDraft.objects.filter(pk=draft, owner=account_of(request)).first()
        if row is None:
            raise Http404(_("This draft is not there: it was opened or deleted, or is somebody else's."))
        return view(request, read_draft(row), *args, **kwargs)

    return for_roles(RESEARCHER, corpora=True)(guarded)


def draft_frame(plan: DraftPlan, step: str, **more: Any) -> dict[str, Any]:
    """Return the common context of a draft's pages."""
    steps = [
        StepInList(key, STEP_TITLES[key], key == step, bool(plan.problems_of(key))) for key in fields.STEPS
    ]
    number = fields.STEPS.index(step)
    return {
        "draft": plan.draft,
        "plan": plan,
        "step": step,
        "step_title": STEP_TITLES[step],
        "steps": steps,
        "number": number + 1,
        "all": len(steps),
        "before": fields.STEPS[number - 1] if number else "",
        "after": fields.STEPS[number + 1] if number + 1 < len(steps) else "",
        **more,
    }


def kind_of_draft(plan: DraftPlan, kind: str) -> str:
    """Return a kind of question of the draft. Raises Http404 for any other."""
    if kind not in plan.kinds:
        raise Http404(_("This draft does not ask “%(kind)s”.") % {"kind": kind[:60]})
    return kind


def preview_page(
    plan: DraftPlan,
    posed: PosedQuestion,
    entered: dict[str, str] | None = None,
    problem: BadAnswer | None = None,
) -> TaskPage:
    """Lay out a question like its task page; there is no lease."""
    return _laid_out(
        plan, TASK_TYPES.get(posed.kind), posed.content, displayed_image(posed.image), entered, problem
    )


def practice_page(
    plan: DraftPlan, kind: str, number: int, entered: dict[str, str], problem: BadAnswer | None
) -> TaskPage | None:
    """Lay out an item of practice like a task page, as a substitute for what the corpus cannot show; None if
    the kind has none."""
    items = PRACTICE.get(kind).items if kind in PRACTICE else ()
    if not items:
        return None
    page, image = PRACTICE.get(kind).posed(items[number % len(items)])
    task_type = cast(TaskType, FixedPageType(TASK_TYPES.get(kind), page))
    content = kind_of(kind).content(plan.settings.answers.number)
    return _laid_out(plan, task_type, content, image, entered, problem)


def _laid_out(
    plan: DraftPlan,
    type_: TaskType,
    content: dict[str, Any],
    image: DisplayedImage,
    entered: dict[str, str] | None,
    problem: BadAnswer | None,
) -> TaskPage:
    work = WorkContext(Worker(pk=0), plan.unsaved(), type_)
    form = InvalidForm(entered or {}, str(problem), problem.field) if problem else InvalidForm(entered or {})
    return build_task_page(
        work,
        lease=Lease(0, type_.key, "", image.id, content, "", timezone.now(), None, None),
        image=image,
        text=text_of_draft(plan, type_.key),
        settings=plan.settings,
        done=WorkSoFar(),
        form=form,
    )


def text_of_draft(plan: DraftPlan, kind: str) -> CampaignText:
    """Return the text of a kind for workers: that of the campaign that the draft is modelled on, else the
    built-in one."""
    like = plan.like
    text = (
        instructions.current_text(campaign=like, kind=kind)
        if like is not None
        else instructions.built_in_text(kind)
    )
    return instructions.text_in_language(text, get_language())
