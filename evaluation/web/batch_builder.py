"""The page that builds a batch: its address says what is chosen; the price is told before anybody works.

The form is sent by GET, so that an address can be handed on; the same services as `open_batch --dry-run`
tell what it comes to. Launching is a POST of the same fields, and a job.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation import jobs
from annotation.campaigns import CampaignError
from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.protocol.kinds import kinds_of_tasks
from annotation.selectors.corpora import split_names
from annotation.selectors.jobs import Job
from annotation.task_types.base import TASK_TYPES, TranslatableText
from annotation.web.common.access import RUNNING, account_of, for_roles
from evaluation.models import Batch, JudgmentSet, Run
from evaluation.pooling.pools import BadPool
from evaluation.pooling.unlikely import BLEU_PRE_THRESHOLD
from evaluation.relevance.pair_tasks import USUAL_TASKS, all_pair_tasks, pair_tasks
from evaluation.selectors import BATCH_FORMAT
from evaluation.services.batches.launching import check_known
from evaluation.services.batches.next_pairs import SHARE
from evaluation.services.batches.planning import BATCH_DEPTH, BatchRequest, Plan, plan
from evaluation.services.batches.pooled_runs import WIDEST
from evaluation.services.batches.stored_answers import BatchRefused, reusable
from evaluation.services.common import ImportRefused, check_name
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, text_parameter, text_parameters
from evaluation.web.splits import NotOffered, whole_in

#: Runs offered at once, by name; more are found by a part of their name.
_MOST_RUNS = 200
#: With fewer systems than this, that they keep their order says little.
_FEW = 5
#: Strategies in words; at random is what the others must beat, and is left to commands.
_ORDERS = {
    "move_to_front": gettext_lazy("pairs near relevant ones first (move to front)"),
    "thompson": gettext_lazy("pairs from runs that found relevant ones first (a bandit)"),
    "depth": gettext_lazy("pairs at the best ranks first"),
}
#: What a request can be wrong about.
BATCH_REFUSALS = (
    BadPool,
    BatchRefused,
    Busy,
    CampaignError,
    ImportRefused,
    NotOffered,
    UnknownName,
    jobs.JobError,
)


@dataclass(frozen=True, slots=True)
class BatchWanted:
    """What the form says. `settings` is TOML; `threshold` None takes nothing out; `runs` are names."""

    corpus: str = ""
    runs: tuple[str, ...] = ()
    tasks: str = USUAL_TASKS
    depth: int = BATCH_DEPTH
    threshold: float | None = BLEU_PRE_THRESHOLD
    judges: int | None = None
    known_from: str = ""
    reuse: tuple[str, ...] = ()
    strategy: str = ""
    waves: int = round(1 / SHARE)
    settings: str = ""
    find: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)
    simulated: bool = False

    def planned(self) -> dict[str, Any]:
        """The arguments of `planning.plan`, and of the job but for its name."""
        return {
            "corpus": self.corpus,
            "runs": list(self.runs),
            "tasks": self.tasks,
            "depth": self.depth,
            "threshold": self.threshold,
            "judges": self.judges,
            "settings": dict(self.table),
            "reuse": list(self.reuse),
            "strategy": self.strategy,
            "share": 1 / self.waves,
            "simulated": self.simulated,
        }


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def batch_build(request: HttpRequest) -> HttpResponse:
    """Choose what a batch is made of, see what it comes to, and launch it."""
    given = request.POST if request.method == "POST" else request.GET
    wrong, status, made, there = "", 200, None, False
    # What is ticked stays, whatever else cannot be read.
    wanted = BatchWanted(corpus=text_parameter(given, "corpus"), runs=tuple(text_parameters(given, "run")))
    name = text_parameter(given, "name")
    try:
        if wanted.corpus or wanted.runs:
            offered.offered_corpus(request, wanted.corpus)
        offered.offered_runs(request, wanted.runs)
        there = True
        wanted = wanted_in(given)
        if request.method == "POST":
            return _launched(request, wanted, name)
    except BATCH_REFUSALS as error:
        wrong, status = str(error), 409 if request.method == "POST" else 200
    try:
        if there and wanted.runs and "look" not in given and (request.method == "POST" or not wrong):
            made = planned_batch(wanted)
    except BATCH_REFUSALS as error:
        wrong = str(error)
    return render(
        request, "evaluation/batch_new.html", _shown(request, given, wanted, made, wrong, name), status=status
    )


def wanted_in(given: QueryDict) -> BatchWanted:
    """What an address or a form asks for, the defaults where it says nothing; raises NotOffered, BadPool."""
    corpus = text_parameter(given, "corpus")
    if not given.get("chosen"):
        reuse = tuple(reusable(corpus, USUAL_TASKS)) if corpus else ()
        return BatchWanted(corpus=corpus, runs=tuple(text_parameters(given, "run")), reuse=reuse)
    depth, tasks = (
        whole_in(given, "depth", default=BATCH_DEPTH),
        text_parameter(given, "tasks") or USUAL_TASKS,
    )
    if depth > WIDEST:
        raise BadPool(f"depth {depth}: expected {WIDEST} or less, or the command open_batch")
    if tasks not in all_pair_tasks():
        raise NotOffered(
            _("“%(given)s” is not a question about pairs: choose one from the list.") % {"given": tasks[:60]}
        )
    settings = text_parameter(given, "settings")
    try:
        table = tomllib.loads(settings)
    except (ValueError, RecursionError) as error:  # numbers of no end too
        raise NotOffered(_("The settings are not valid TOML: %(error)s") % {"error": error}) from error
    return BatchWanted(
        corpus=corpus,
        runs=tuple(text_parameters(given, "run")),
        tasks=tasks,
        depth=depth,
        threshold=_share_in(given, "threshold"),
        judges=whole_in(given, "judges", default=0) or None,
        known_from=text_parameter(given, "known"),
        reuse=tuple(text_parameters(given, "reuse")),
        strategy=text_parameter(given, "order"),
        waves=whole_in(given, "waves", default=0) or round(1 / SHARE),
        settings=settings,
        find=text_parameter(given, "find"),
        table=table,
        simulated=bool(text_parameter(given, "simulated")),
    )


def planned_batch(wanted: BatchWanted) -> Plan:
    """What a batch comes to before it is launched; raises one of BATCH_REFUSALS."""
    made = plan(BatchRequest(**wanted.planned()))
    if wanted.known_from:
        check_known(made, wanted.known_from)
    return made


def _launched(request: HttpRequest, wanted: BatchWanted, name: str) -> HttpResponse:
    """The batch asked for as a job; raises one of BATCH_REFUSALS."""
    enqueue_batch(request, wanted, name)
    messages.success(request, _("Opening the batch. It will appear below when its questions are ready."))
    return redirect("evaluation:batches")


def enqueue_batch(request: HttpRequest, wanted: BatchWanted, name: str) -> Job:
    """The job that opens a batch; raises one of BATCH_REFUSALS for a name that cannot be, and for no run."""
    check_name(name, "batch")
    if not wanted.runs:
        raise NotOffered(_("Choose at least one run."))
    if Batch.objects.filter(name=name).exists():
        raise BatchRefused(_("Batch “%(name)s” already exists: choose another name.") % {"name": name})
    arguments = {**wanted.planned(), "name": name, "known_from": wanted.known_from or None}
    corpus = offered.offered_corpus(request, wanted.corpus)
    return jobs.enqueue(kind="open_batch", arguments=arguments, corpus=corpus, actor=account_of(request))


def _share_in(given: Mapping[str, str], name: str) -> float | None:
    text = text_parameter(given, name).replace(",", ".")
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise NotOffered(_("“%(given)s” is not a number from 0 to 1.") % {"given": text[:60]}) from None


def _shown(
    request: HttpRequest, given: QueryDict, wanted: BatchWanted, made: Plan | None, wrong: str, name: str
) -> dict[str, Any]:
    """What the page shows: the choices of the corpus, and what was planned."""
    known = offered.offered_corpora(request)
    corpus = next((each for each in known if each.name == wanted.corpus), None)
    runs, more, sets, splits = [], False, [], []
    if corpus is not None:
        alike = Run.objects.filter(corpus=corpus, published=True).order_by("name")
        found = alike.filter(name__icontains=wanted.find) if wanted.find else alike
        listed = list(found.filter(archived_at=None)[: _MOST_RUNS + 1])
        more = len(listed) > _MOST_RUNS
        # What is chosen stays in sight, whatever was looked for.
        listed = listed[:_MOST_RUNS]
        there = {run.pk for run in listed}
        runs = [run for run in alike.filter(name__in=wanted.runs) if run.pk not in there] + listed
        sets = list(JudgmentSet.objects.filter(corpus=corpus, published=True, batches=None).order_by("name"))
        splits = [split for split in split_names(corpus) if split]
    numbers = made.numbers() if made is not None else {}
    return evaluation_frame(
        "batches",
        deeper=True,
        corpora=known,
        corpus=corpus,
        wanted=wanted,
        runs=runs,
        more_runs=more,
        sets=[one for one in sets if not one.format.startswith(BATCH_FORMAT)],
        splits=splits,
        kinds=_questions(),
        paged=pair_tasks(wanted.tasks).paged,
        orders=_ORDERS.items(),
        plan=made,
        numbers=numbers,
        share_asked=numbers["asked"] / numbers["pooled"] if numbers.get("pooled") else 0,
        one_sided=[system for system, sides in _sides(made).items() if len(sides) == 1],
        few=len(_sides(made)) < _FEW,
        wrong=wrong,
        name=name,
        fields=[(key, value) for key, values in given.lists() for value in values if key in _HELD],
    )


def _questions() -> list[tuple[str, TranslatableText, bool]]:
    """What a batch may ask: its tasks, the question in words, and whether it is asked on pages."""
    return [
        (tasks, TASK_TYPES.get(kinds_of_tasks(tasks)[0]).title, read.paged)
        for tasks, read in all_pair_tasks().items()
    ]


#: Fields that launching sends again as they were.
_HELD = (
    *("chosen", "corpus", "run", "tasks", "depth", "threshold", "judges"),
    *("known", "reuse", "order", "waves", "settings", "find", "simulated"),
)


def _sides(made: Plan | None) -> dict[str, set[str]]:
    """The systems that were chosen, and their directions."""
    sides: dict[str, set[str]] = {}
    for part in made.runs if made is not None else ():
        sides.setdefault(part.system or part.run, set()).add(part.direction)
    return sides
