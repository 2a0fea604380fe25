"""The forms that make qrels: freezing as a job, or importing a file of qrels or judgments."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation.common.operations import operation_named
from annotation.selectors.corpora import split_names
from annotation.web.common.access import RUNNING, for_roles
from evaluation.services.common import MOST_READ
from evaluation.services.judgments.freezing import QrelsReport
from evaluation.services.judgments.importing import JudgmentsReport
from evaluation.web import visible
from evaluation.web.page_context import page_context, text_parameter
from evaluation.web.submitted_forms import set_row_choices, submitted_form

#: What can be frozen, as the buttons name it, and the fields of each form.
_OF_BOTH = ("name", "corpus", "split", "images", "fold_seed")
_FORMS = {
    "protocol": ("protocol", "caption", *_OF_BOTH),
    "judgments": (
        *("judgments", "rule", "relevant_from", "summary", "gains", "queries", "originals"),
        *_OF_BOTH,
    ),
}


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def qrels_freeze(request: HttpRequest) -> HttpResponse:
    """Freeze originals under a protocol, or judgments, as a job; errors are checked first."""
    operation = operation_named("freeze_qrels")
    forms_by_act = {
        act: submitted_form(request, operation, only_fields=names, act=act) for act, names in _FORMS.items()
    }
    if any(outcome.result is not None for outcome in forms_by_act.values()):
        assert operation.page is not None
        messages.success(request, str(operation.page.started))
        return redirect("evaluation:qrels_list")
    corpora, data = visible.visible_corpora(request), forms_by_act["protocol"].data
    chosen = next(
        (known_corpus for known_corpus in corpora if known_corpus.name == text_parameter(data, "corpus")),
        None,
    )
    corpus = chosen or (corpora[0] if len(corpora) == 1 else None)
    sets = list(visible.judgment_sets(request).filter(corpus=corpus).order_by("name")) if corpus else []
    forms = {act: outcome.form for act, outcome in forms_by_act.items()}
    set_row_choices(forms["judgments"], "judgments", sets, none=False)
    protocols: Any = forms["protocol"].fields["protocol"].widget
    protocols.choices = [choice for choice in protocols.choices if choice[0]]
    for form in forms.values():
        form.fields["split"].widget.attrs["list"] = "splits"
    return render(
        request,
        "evaluation/qrels_freeze.html",
        page_context(
            "qrels",
            deeper=True,
            corpora=corpora,
            corpus=corpus,
            splits=[split for split in split_names(corpus) if split] if corpus else [],
            sets=sets,
            forms=forms,
            error="".join(outcome.error for outcome in forms_by_act.values()),
        ),
        status=max(outcome.status for outcome in forms_by_act.values()),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def qrels_import(request: HttpRequest) -> HttpResponse:
    """Import a file of qrels or of judgments, all of it or nothing."""
    qrels = submitted_form(request, operation_named("import_qrels"), act="import_qrels")
    if isinstance(qrels.result, QrelsReport):
        _report_qrels(request, qrels.result)
        return redirect("evaluation:qrels", qrels.result.qrels)
    judgments = submitted_form(request, operation_named("import_judgments"), act="import_judgments")
    if isinstance(judgments.result, JudgmentsReport):
        _report_judgments(request, judgments.result)
        return redirect("evaluation:qrels_list")
    return render(
        request,
        "evaluation/qrels_import.html",
        page_context(
            "qrels",
            deeper=True,
            corpora=visible.visible_corpora(request),
            qrels=qrels.form,
            judgments=judgments.form,
            largest=filesizeformat(MOST_READ),
            error=qrels.error or judgments.error,
        ),
        status=max(qrels.status, judgments.status),
    )


def _report_qrels(request: HttpRequest, report: QrelsReport) -> None:
    named = {"name": report.qrels, "version": report.version}
    if report.unchanged:
        messages.success(request, _("Qrels “%(name)s” already exist, nothing changed.") % named)
    else:
        messages.success(request, _("Qrels “%(name)s” imported, version %(version)d.") % named)


def _report_judgments(request: HttpRequest, report: JudgmentsReport) -> None:
    named = {"name": report.judgments, "pairs": report.pairs, "scale": report.scale}
    if report.unchanged:
        messages.success(request, _("Judgments “%(name)s” already exist, nothing changed.") % named)
    else:
        messages.success(
            request,
            ngettext(
                "Judgments “%(name)s” imported: %(pairs)d pair on the scale %(scale)s.",
                "Judgments “%(name)s” imported: %(pairs)d pairs on the scale %(scale)s.",
                report.pairs,
            )
            % named,
        )
