"""The pages of batches: the list, and one batch with its next steps."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.work import UNPAID
from annotation.selectors.campaign.cost import money
from annotation.selectors.campaign.progress import open_tasks_of_campaigns
from annotation.selectors.campaign.sums import earned_in_campaigns
from annotation.selectors.campaigns import CAMPAIGN_STATES
from annotation.selectors.jobs import Job
from annotation.selectors.pair_judgments import Judge, judges_excluded
from annotation.web.common.access import RUNNING, AddressedThing, account_of, for_roles, for_roles_on
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.common.request_forms import RequestForm
from evaluation.models import Batch, QrelsSnapshot
from evaluation.pair_tasks import pair_tasks
from evaluation.selectors import judgments_source
from evaluation.services.batches.collecting import staying_out
from evaluation.services.batches.reassignment import CLOSED_MESSAGE
from evaluation.services.batches.state import BatchState, cached_batch_state
from evaluation.services.judgments.freezing import is_frozen_from
from evaluation.web import visible
from evaluation.web.job_lines import NEWEST_JOBS, job_lines, pages_of_results
from evaluation.web.page_context import page_context, set_choices
from phrasebox.relevance.grades import GRADED_RULES
from phrasebox.relevance.qrels import RELEVANCE_RULES

#: Batches per page, and judges on a batch's page.
_PAGE, MOST_JUDGES = 30, 100
#: The sort orders of the list.
_SORTS = {
    "new": SortColumn(gettext_lazy("newest"), "id", down=True),
    "name": SortColumn(gettext_lazy("name"), "name"),
    "depth": SortColumn(gettext_lazy("depth"), "depth", down=True),
}
#: Kinds of jobs about batches, and how many of the newest are searched for those of one batch.
OPENING = ("open_batch",)
ABOUT_ONE = ("settle_batch", "collect_judgments", "reassign_pages", "next_round", *OPENING)
_LOOKED_THROUGH = 60


@dataclass(frozen=True, slots=True)
class _Line:
    """A batch in the list: the answers that its open tasks still need, the cost so far, and its newest qrels.

    The number of pairs with enough answers is counted on the batch's page, and stored with qrels. `excluded`
    judges do not count though their answers are not withdrawn: others could be asked instead.
    """

    batch: Batch
    selected: int
    answers_to_come: int
    cost: str
    qrels: QrelsSnapshot | None
    excluded: int


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """A judge: accuracy on control items (None: met none), answers that are not withdrawn, and why they do
    not count."""

    name: str
    judge: Judge

    @property
    def accuracy(self) -> float | None:
        """The share of control items that the judge answered correctly; None if there were none."""
        return self.judge.right / self.judge.known if self.judge.known else None

    @property
    def excluded(self) -> bool:
        """Whether the judge's answers do not count, or were withdrawn."""
        return bool(self.judge.unused) or self.judge.withdrawn


#: The batch of an address.
BATCH = AddressedThing(
    lambda name: (
        Batch.objects.select_related("campaign__corpus", "corpus", "judgments").filter(name=name).first()
    ),
    gettext_lazy("There is no batch “%(name)s” here."),
)


@require_safe
@for_roles(*RUNNING, corpora=True)
def batch_list(request: HttpRequest) -> HttpResponse:
    """List batches, searched, sorted and paged by the address, and the newest that are being opened."""
    batches = visible.visible_batches(request).select_related("campaign__corpus", "corpus", "judgments")
    state = request.GET.get("state", "")
    state = state if state in CAMPAIGN_STATES else ""
    page = list_page(
        batches.filter(campaign__state=state) if state else batches,
        request.GET,
        sorts=_SORTS,
        number=_PAGE,
        also={"state": state},
        archive=True,
    )
    lines = job_lines(request, OPENING, leads=_leads)
    return render(
        request,
        "evaluation/batches.html",
        page_context(
            "batches",
            lines=_lines(page.rows),
            page=page,
            state=state,
            states=CAMPAIGN_STATES,
            any=bool(page.rows) or batches.exists(),
            jobs=lines,
            live=any(job.live for job in lines),
        ),
    )


@require_safe
@for_roles_on(BATCH, *RUNNING)
def batch_detail(request: HttpRequest, row: Batch) -> HttpResponse:
    """Show one batch: next steps, progress, judges, and the qrels frozen from it."""
    seen = cached_batch_state(row, fresh=request.GET.get("fresh") == "1")
    people = sorted(
        (JudgeLine(*item) for item in seen.people.items()),
        key=lambda entry: (not entry.excluded, entry.accuracy is None, entry.accuracy or 0, entry.name),
    )
    lines = [
        line
        for line in job_lines(request, ABOUT_ONE, limit=_LOOKED_THROUGH)
        if row.name in (line.job.arguments.get("batch"), line.job.arguments.get("name"))
    ][:NEWEST_JOBS]
    frozen = frozen_of(row)
    current = next(
        (entry for entry in frozen if row.judgments and is_frozen_from(entry, row.judgments)), None
    )
    rules = GRADED_RULES if pair_tasks(seen.tasks).rule.name in GRADED_RULES else RELEVANCE_RULES
    settling = RequestForm(
        operation_named("settle_batch"),
        account_of(request),
        initial={
            "qrels": frozen[0].name if frozen else row.name,
            "rule": pair_tasks(seen.tasks).rule.name,
        },
        only_fields=("qrels", "rule"),
    )
    set_choices(settling, "rule", {rule.name: f"{rule.name} ({rule.described()})" for rule in rules})
    return render(
        request,
        "evaluation/batch.html",
        page_context(
            "batches",
            deeper=True,
            batch=row,
            seen=seen,
            share=seen.judged / seen.numbers["selected"] if seen.numbers["selected"] else 1,
            to_freeze=not seen.collected or current is None,
            before=sorted(staying_out(seen.people).items()),
            counted=[(name, entry.before) for name, entry in sorted(seen.people.items()) if entry.counted],
            lost_for_good=seen.short if seen.state == CLOSED_MESSAGE else 0,
            again=again_of(row, seen),
            planned=money(row.numbers["micros"], settings_of(row.campaign.settings).pay.currency),
            ended=seen.rounds is None or bool(seen.rounds.ended),
            selected_share=seen.numbers["selected"] / seen.rounds.askable if seen.rounds else 1,
            lost=seen.loss.relevant / seen.loss.judged if seen.loss is not None else 0,
            runs=row.numbers["runs"],
            people=people[:MOST_JUDGES],
            more_people=len(people) - MOST_JUDGES,
            bar=settings_of(row.campaign.settings).trust.bar_of(row.campaign.kinds[0]),
            frozen=frozen,
            current=current,
            form=settling,
            report=report_of(current, seen) if current else "",
            comparison=comparison_of(current, seen) if current else "",
            jobs=lines,
            live=any(line.live for line in lines),
        ),
    )


def _leads(done: Sequence[Job]) -> dict[int, str]:
    """Return the addresses of what finished jobs made."""
    batch_names = {job.pk: str(job.result.get("batch", "")) for job in done}
    return pages_of_results("evaluation:batch", batch_names, Batch.objects.all())


def frozen_of(batch: Batch) -> list[QrelsSnapshot]:
    """Return the newest qrels that were frozen from the batch's judgments."""
    return list(_frozen_of([batch]).select_related("judgments")[:5])


def _frozen_of(batches: Sequence[Batch]) -> QuerySet[QrelsSnapshot]:
    """Return the qrels that were frozen from any of these batches' judgments, the newest first."""
    frozen = Q()
    for batch in batches:
        frozen |= Q(judgments__source=judgments_source(batch), corpus=batch.corpus_id)
    return QrelsSnapshot.objects.filter(frozen, published=True).order_by("-pk")


def again_of(batch: Batch, seen: BatchState) -> str:
    """Return the address that builds a batch of the same runs, which asks whatever lacks answers."""
    chosen = [
        *(("chosen", "1"), ("corpus", seen.corpus), ("tasks", seen.tasks), ("depth", str(seen.depth))),
        *(("threshold", str(seen.threshold or 0)), ("judges", str(seen.judges))),
        *(("reuse", name) for name in batch.reused),
        *(("runs", run) for run in seen.runs),
    ]
    return f"{reverse('evaluation:new_batch')}?{urlencode(chosen)}"


def comparison_of(snapshot: QrelsSnapshot, seen: BatchState) -> str:
    """Return the address that compares the batch's runs under `snapshot`."""
    parameters = [("qrels", f"{snapshot.name}:{snapshot.version}"), *(("run", run) for run in seen.runs)]
    return f"{reverse('evaluation:compare')}?{urlencode(parameters)}"


def report_of(snapshot: QrelsSnapshot, seen: BatchState) -> str:
    """Return the address that builds a report of the batch's runs under `snapshot`."""
    parameters = [("qrels", f"{snapshot.name}:{snapshot.version}"), ("batch", seen.batch)]
    runs = [("runs", run) for run in seen.runs]
    return f"{reverse('evaluation:new_report')}?{urlencode([*parameters, *runs])}"


def _lines(rows: Sequence[Batch]) -> list[_Line]:
    """Return the lines of the list, with the same number of queries for any number of batches."""
    if not rows:
        return []
    campaigns = {row.campaign: settings_of(row.campaign.settings) for row in rows}
    open_tasks = open_tasks_of_campaigns(list(campaigns))
    earned = earned_in_campaigns([key for key, of in campaigns.items() if of.pay.basis != UNPAID])
    excluded = judges_excluded({key: of.trust for key, of in campaigns.items() if key.state != key.CLOSED})
    newest: dict[tuple[str, int], QrelsSnapshot] = {}
    for snapshot in _frozen_of(rows).select_related("judgments"):
        if snapshot.judgments is not None:
            newest.setdefault((snapshot.judgments.source, snapshot.corpus_id), snapshot)
    lines = []
    for row in rows:
        pay = campaigns[row.campaign].pay
        left = sum(tasks.wanting + tasks.in_hand for tasks in open_tasks[row.campaign.pk].values())
        frozen = newest.get((judgments_source(row), row.corpus_id))
        spent = sum(line.pay for line in earned.get(row.campaign.pk, ()))
        lines.append(
            _Line(
                batch=row,
                selected=row.numbers["selected"],
                # Pairs only need counting: whatever is still asked is still to come (`progress.to_come`).
                answers_to_come=0 if row.campaign.state == row.campaign.CLOSED else left,
                cost=money(spent, pay.currency) if pay.basis != UNPAID else "",
                qrels=frozen,
                excluded=excluded[row.campaign.pk],
            )
        )
    return lines
