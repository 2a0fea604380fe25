"""The forms that make qrels: frozen here as a job, or imported from a file, as judgments are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation import jobs
from annotation.selectors.corpora import corpus_named, split_names
from annotation.selectors.jobs import Job
from annotation.web.common.access import RUNNING, account_of, for_roles
from evaluation.comparison.query_sets import queries_named
from evaluation.comparison.subsets import subset_from_file, subset_named
from evaluation.formats import JUDGMENT_FORMATS
from evaluation.formats.qrels_files import QRELS_FORMATS
from evaluation.metrics.protocols import PROTOCOLS
from evaluation.relevance.grades import GAINS, GRADED_RULES, LINEAR, MEAN, SUMMARIES
from evaluation.relevance.qrels import RELEVANCE_RULES
from evaluation.relevance.scales import scale_named, score_named
from evaluation.services.judgments.freezing import FROM_A_PROTOCOL, FROM_JUDGMENT_SET, QrelsReport, check_next
from evaluation.services.judgments.importing import JudgmentsImport, JudgmentsReport, import_judgments
from evaluation.services.judgments.qrels_files import ASKING_SIDES, QrelsImport, import_qrels
from evaluation.services.judgments.relevance import RelevanceChoice, check_relevance
from evaluation.web import offered
from evaluation.web.frame import evaluation_frame, text_parameter
from evaluation.web.splits import NotOffered, part_in, whole_in
from evaluation.web.uploads import READ_AT_ONCE, UPLOAD_REFUSALS, upload_folder, uploaded_file

#: What can be frozen, as buttons call it.
FROM_PROTOCOL, FROM_JUDGMENTS = "protocol", "judgments"
#: The field of the list of keywords that one format of judgments has beside its file.
BESIDE = "beside"


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def qrels_freeze(request: HttpRequest) -> HttpResponse:
    """Freeze originals under a protocol, or judgments, as a job; what can be wrong is looked for first."""
    given = request.POST if request.method == "POST" else request.GET
    corpora = offered.offered_corpora(request)
    wrong, status = "", 200
    if request.method == "POST":
        try:
            with upload_folder(request, commands="freeze_qrels", most=READ_AT_ONCE) as folder:
                return _frozen(request, given, folder)
        except (*UPLOAD_REFUSALS, jobs.JobError) as error:
            wrong, status = str(error), 409
    chosen = next((each for each in corpora if each.name == text_parameter(given, "corpus")), None)
    corpus = chosen or (corpora[0] if len(corpora) == 1 else None)
    sets = offered.judgment_sets(request).filter(corpus=corpus).order_by("name") if corpus else []
    return render(
        request,
        "evaluation/qrels_freeze.html",
        evaluation_frame(
            "qrels",
            deeper=True,
            corpora=corpora,
            corpus=corpus,
            splits=[split for split in split_names(corpus) if split] if corpus else [],
            protocols=PROTOCOLS.values(),
            sets=sets,
            votes=RELEVANCE_RULES,
            grades=GRADED_RULES,
            summaries=SUMMARIES,
            gains=GAINS,
            given=given,
            act=text_parameter(given, "act"),
            wrong=wrong,
        ),
        status=status,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def qrels_import(request: HttpRequest) -> HttpResponse:
    """Import a file of qrels or of judgments: all of it, or nothing."""
    given = request.POST if request.method == "POST" else request.GET
    wrong, status = "", 200
    act = text_parameter(request.POST, "act")
    if request.method == "POST":
        try:
            if act not in _TAKEN:
                raise NotOffered(_("Nothing was chosen: use one of the buttons."))
            corpus = offered.offered_corpus(request, text_parameter(given, "corpus")).name
            with upload_folder(request, commands=f"import_{act}", most=READ_AT_ONCE) as folder:
                return _TAKEN[act](request, corpus, folder)
        except UPLOAD_REFUSALS as error:
            wrong, status = str(error), 409
    return render(
        request,
        "evaluation/qrels_import.html",
        evaluation_frame(
            "qrels",
            deeper=True,
            corpora=offered.offered_corpora(request),
            formats=[(key, QRELS_FORMATS.get(key).title) for key in QRELS_FORMATS.keys()],
            judgment_formats=[(key, JUDGMENT_FORMATS.get(key).title) for key in JUDGMENT_FORMATS.keys()],
            sides=ASKING_SIDES,
            given=given,
            act=act,
            largest=filesizeformat(READ_AT_ONCE),
            wrong=wrong,
        ),
        status=status,
    )


def _frozen(request: HttpRequest, given: QueryDict, folder: Path) -> HttpResponse:
    """The job that freezes; raises one of UPLOAD_REFUSALS, or JobError, for what cannot be frozen."""
    enqueue_freezing(request, given, folder)
    messages.success(request, _("Freezing the qrels. They will appear here."))
    return redirect("evaluation:qrels_list")


def enqueue_freezing(request: HttpRequest, given: QueryDict, folder: Path) -> Job:
    """The job that freezes what a form asks for; raises one of UPLOAD_REFUSALS, or JobError."""
    corpus = offered.offered_corpus(request, text_parameter(given, "corpus"))
    act = text_parameter(given, "act")
    if act not in (FROM_PROTOCOL, FROM_JUDGMENTS):
        raise NotOffered(_("Nothing was chosen: use one of the buttons."))
    name = text_parameter(given, "name")
    check_next(name, corpus.name, FROM_A_PROTOCOL if act == FROM_PROTOCOL else FROM_JUDGMENT_SET)
    made = _of_protocol(given) if act == FROM_PROTOCOL else _of_judgments(given, corpus.name)
    if queries := part_in(given, "queries", corpus):
        if act == FROM_PROTOCOL:
            raise NotOffered(_("A protocol says which queries are asked: leave them empty."))
        made["queries"] = queries
    arguments = {"name": name, "corpus": corpus.name, **made, **_images(request, given, corpus, folder)}
    return jobs.enqueue(kind="freeze_qrels", arguments=arguments, corpus=corpus, actor=account_of(request))


def _of_protocol(given: QueryDict) -> dict[str, Any]:
    protocol = text_parameter(given, "protocol")
    if protocol not in PROTOCOLS:
        raise NotOffered(_("There is no protocol “%(name)s”.") % {"name": protocol[:60]})
    number = whole_in(given, "caption", default=-1)
    if number >= 0 and PROTOCOLS[protocol].number is None:
        raise NotOffered(_("“%(name)s” uses all captions: leave the number empty.") % {"name": protocol})
    return {"protocol": protocol, **({"caption": number} if number >= 0 else {})}


def _of_judgments(given: QueryDict, corpus: str) -> dict[str, Any]:
    judgments = text_parameter(given, "judgments")
    relevant_from, scale = text_parameter(given, "relevant_from"), text_parameter(given, "scale")
    rule, gains, summary = (
        text_parameter(given, "rule") or None,
        text_parameter(given, "gains"),
        text_parameter(given, "summary"),
    )
    relevance = RelevanceChoice(
        rule,
        scale_named(scale) if scale else None,
        score_named(relevant_from) if relevant_from else None,
        gains=gains if gains in GAINS else LINEAR,
        summary=summary if summary in SUMMARIES else MEAN,
    )
    check_relevance(corpus, judgments, relevance)
    found: dict[str, Any] = {"judgments": judgments, "originals": text_parameter(given, "originals") == "1"}
    if rule is not None:
        found["rule"] = rule
    if scale:
        found["scale"] = scale
    if relevant_from:
        found["relevant_from"] = relevant_from
    if relevant_from or (relevance.gains, relevance.summary) != (LINEAR, MEAN):
        found |= {"gains": relevance.gains, "summary": relevance.summary}
    return found


def _images(request: HttpRequest, given: QueryDict, corpus: Any, folder: Path) -> dict[str, Any]:
    """Which images: a split, a fold, those of a run, or those that a file names; all where nothing is said.

    The names of a file are looked up now: what the job gets are rows.
    """
    file = uploaded_file(request, folder, "file", most=READ_AT_ONCE)
    split, seed = part_in(given, "split", corpus), whole_in(given, "seed", default=0)
    if file is None:
        subset_named(corpus.name, split, seed=seed, files=False)
        return {"split": split, "seed": seed} if split else {}
    if split:
        raise NotOffered(_("Name images or upload a file of names, not both."))
    subset = subset_from_file(corpus.name, file)
    return {"images": sorted(subset.images), "listed": subset.called}


def _qrels(request: HttpRequest, corpus: str, folder: Path) -> HttpResponse:
    made = import_sent_qrels(request, request.POST, corpus, folder)
    _tell_of_qrels(request, made)
    return redirect("evaluation:qrels", made.qrels)


def import_sent_qrels(request: HttpRequest, given: QueryDict, corpus: str, folder: Path) -> QrelsReport:
    """Import the file of qrels that a request carries; raises one of UPLOAD_REFUSALS."""
    queries = part_in(given, "queries", corpus_named(corpus))
    return import_qrels(
        QrelsImport(
            name=text_parameter(given, "name"),
            corpus=corpus,
            queries=queries_named(corpus, queries, files=False),
            path=(file := _sent(request, folder)),
            format=_known(given, list(QRELS_FORMATS.keys())),
            asks=text_parameter(given, "asks"),
            level=whole_in(given, "level", default=1),
            skip_unknown=text_parameter(given, "skip") == "1",
            source=file.name,
        ),
        actor=account_of(request),
    )


def _judgments(request: HttpRequest, corpus: str, folder: Path) -> HttpResponse:
    _tell_of_judgments(request, import_sent_judgments(request, request.POST, corpus, folder))
    return redirect("evaluation:qrels_list")


def import_sent_judgments(
    request: HttpRequest, given: QueryDict, corpus: str, folder: Path
) -> JudgmentsReport:
    """Import the file of judgments that a request carries; raises one of UPLOAD_REFUSALS."""
    scale = text_parameter(given, "scale")
    return import_judgments(
        JudgmentsImport(
            corpus=corpus,
            path=(file := _sent(request, folder)),
            format=_known(given, list(JUDGMENT_FORMATS.keys())),
            name=text_parameter(given, "name"),
            scale=scale_named(scale) if scale else None,
            skip_unknown=text_parameter(given, "skip") == "1",
            repeats=text_parameter(given, "repeats") == "1",
            source=file.name,
        ),
        actor=account_of(request),
    )


#: What a button imports.
_TAKEN: dict[str, Callable[[HttpRequest, str, Path], HttpResponse]] = {
    "qrels": _qrels,
    "judgments": _judgments,
}


def _sent(request: HttpRequest, folder: Path) -> Path:
    file = uploaded_file(request, folder, "file", beside=BESIDE, most=READ_AT_ONCE)
    if file is None:
        raise NotOffered(_("No file was uploaded: choose one."))
    return file


def _known(given: QueryDict, formats: list[str]) -> str:
    format = text_parameter(given, "format")
    if format not in formats:
        raise NotOffered(
            _("There is no format “%(name)s”: choose one from the list.") % {"name": format[:60]}
        )
    return format


def _tell_of_qrels(request: HttpRequest, made: QrelsReport) -> None:
    named = {"name": made.qrels, "version": made.version}
    if made.unchanged:
        messages.success(request, _("Qrels “%(name)s” already exist, nothing changed.") % named)
    else:
        messages.success(request, _("Qrels “%(name)s” imported, version %(version)d.") % named)
    _tell_left_out(request, made.left_out, made.lacking)


def _tell_of_judgments(request: HttpRequest, made: JudgmentsReport) -> None:
    named = {"name": made.judgments, "pairs": made.pairs, "scale": made.scale}
    if made.unchanged:
        messages.success(request, _("Judgments “%(name)s” already exist, nothing changed.") % named)
    else:
        messages.success(
            request,
            ngettext(
                "Judgments “%(name)s” imported: %(pairs)d pair on the scale %(scale)s.",
                "Judgments “%(name)s” imported: %(pairs)d pairs on the scale %(scale)s.",
                made.pairs,
            )
            % named,
        )
    _tell_left_out(request, made.skipped, made.lacking)


def _tell_left_out(request: HttpRequest, number: int, lacking: tuple[str, ...]) -> None:
    if number:
        messages.warning(
            request,
            ngettext(
                "%(number)d pair is left out: the corpus lacks its image or caption (%(first)s).",
                "%(number)d pairs are left out: the corpus lacks their images or captions (%(first)s, …).",
                number,
            )
            % {"number": number, "first": ", ".join(lacking)},
        )
