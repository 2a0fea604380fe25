"""The page that builds a batch: its address holds the choices, and it shows the price before the launch.

The form is submitted by GET, so that its address can be shared; launching is a POST of the same fields, and a
job.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.formats import localize
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import jobs
from annotation.campaigns.setting_fields import setting_fields
from annotation.common.operations import Invalid, OperationContext, operation_named
from annotation.selectors.corpora import Corpus, split_names
from annotation.web.common.access import RUNNING, account_of, for_roles
from annotation.web.common.request_forms import RequestForm
from evaluation.models import JudgmentSet, Run
from evaluation.pair_tasks import USUAL_TASKS, all_pair_tasks, pair_tasks
from evaluation.selectors import BATCH_FORMAT
from evaluation.services.batches.launching import PlannedBatch
from evaluation.services.batches.stored_answers import reusable
from evaluation.web import visible
from evaluation.web.page_context import page_context, set_choices, text_parameter, text_parameters

#: The largest number of runs listed, by name; more are found by a part of their name.
_MOST_RUNS = 200
#: With fewer systems, a stable order means little.
_FEW = 5
#: The fields of the page; all others have their defaults.
_FIELDS = (
    *("corpus", "runs", "tasks", "depth", "threshold", "judges", "known_from", "strategy", "rounds"),
    *("simulated", "reuse", "campaign_settings"),
)


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def batch_build(request: HttpRequest) -> HttpResponse:
    """Choose what a batch is made of, see its cost, and launch it."""
    account, data = account_of(request), request.POST if request.method == "POST" else request.GET
    plan, launch = operation_named("plan_batch"), operation_named("open_batch")
    corpus = text_parameter(data, "corpus")
    initial = {"corpus": corpus, "runs": text_parameters(data, "runs"), "name": text_parameter(data, "name")}
    if corpus:
        initial["reuse"] = list(reusable(corpus, USUAL_TASKS))
    tasks = text_parameter(data, "tasks")
    settings = {"campaign_settings": setting_fields(tasks if tasks in all_pair_tasks() else USUAL_TASKS)}
    chosen = data if data.get("chosen") else None
    form = RequestForm(plan, account, chosen, initial=initial, only_fields=_FIELDS, settings=settings)
    naming = RequestForm(
        launch,
        account,
        data if request.method == "POST" else None,
        initial=initial,
        only_fields=(*_FIELDS, "name"),
        settings=settings,
    )
    planned, message, status = None, "", 200
    try:
        if request.method == "POST":
            status = 400
            if naming.is_valid():
                try:
                    jobs.enqueue_operation(launch, naming.request, row=naming.row, actor=account)
                except Invalid as error:
                    naming.refuse(error)
                else:
                    assert launch.page is not None
                    messages.success(request, str(launch.page.started))
                    return redirect("evaluation:batches")
        if "look" not in data and form.is_bound and form.is_valid():
            planned = plan.run(form.request, OperationContext(account))
    except Invalid as error:
        form.refuse(error)
    except launch.errors as error:
        message, status = str(error), 409 if request.method == "POST" else 200
    return render(
        request,
        "evaluation/batch_new.html",
        _page(request, data, corpus, form=form, naming=naming, plan=planned, error=message),
        status=status,
    )


def _page(
    request: HttpRequest,
    data: QueryDict,
    name: str,
    *,
    form: RequestForm,
    plan: PlannedBatch | None,
    **more: Any,
) -> dict[str, Any]:
    """Return the context of the page: the choices of the corpus, and the plan."""
    known = visible.visible_corpora(request)
    corpus = next((known_corpus for known_corpus in known if known_corpus.name == name), None)
    numbers = plan.numbers if plan is not None else None
    return page_context(
        "batches",
        deeper=True,
        corpora=known,
        corpus=corpus,
        form=form,
        find=text_parameter(data, "find"),
        paged=plan is not None and pair_tasks(plan.tasks).paged,
        plan=plan,
        numbers=numbers,
        share_selected=numbers.selected / numbers.pooled if numbers is not None and numbers.pooled else 0,
        one_sided=[system for system, sides in _sides(plan).items() if len(sides) == 1],
        few=len(_sides(plan)) < _FEW,
        held=[
            (key, value)
            for key, values in data.lists()
            for value in values
            if key.partition(".")[0] in (*_FIELDS, "chosen")
        ],
        **_choices(corpus, form, text_parameter(data, "find")),
        **more,
    )


def _choices(corpus: Corpus | None, form: RequestForm, find: str) -> dict[str, Any]:
    """Return the runs, sets of judgments and splits of a corpus, and which of them are chosen."""
    if corpus is None:
        return {}
    chosen = form["runs"].value() or []
    alike = Run.objects.filter(corpus=corpus, published=True).order_by("name")
    listed = alike.filter(name__icontains=find) if find else alike
    visible_runs = list(listed.filter(archived_at=None)[: _MOST_RUNS + 1])
    runs = visible_runs[:_MOST_RUNS]
    there = {run.pk for run in runs}
    sets = JudgmentSet.objects.filter(corpus=corpus, published=True, batches=None).order_by("name")
    reused: Any = form.fields["reuse"].widget
    pairs = _("%(pairs)s pairs")
    reused.choices = [
        (
            row.name,
            f"{row.name} ({row.format}, {pairs % {'pairs': localize(row.pair_count)}})",
        )
        for row in sets
        if not row.format.startswith(BATCH_FORMAT)
    ]
    set_choices(form, "known_from", [split for split in split_names(corpus) if split], none=_("none"))
    return {
        # Chosen runs are listed, whatever the search.
        "runs": [run for run in alike.filter(name__in=chosen) if run.pk not in there] + runs,
        "more_runs": len(visible_runs) > _MOST_RUNS,
        "sets": reused.choices,
        "chosen_runs": chosen,
    }


def _sides(plan: PlannedBatch | None) -> dict[str, set[str]]:
    """Return the systems that were chosen, and their directions."""
    sides: dict[str, set[str]] = {}
    for part in plan.numbers.runs if plan is not None else ():
        sides.setdefault(part.system or part.run, set()).add(part.direction)
    return sides
