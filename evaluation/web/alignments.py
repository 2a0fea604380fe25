"""Having an alignment write what it says of captions as a layer of its corpus."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import jobs
from annotation.web.common.access import RUNNING, account_of, for_roles_on
from annotation.web.staff.frame import said
from evaluation.models import System
from evaluation.web.frame import text_parameter
from evaluation.web.splits import NotOffered, which_in
from evaluation.web.systems import SYSTEM


@require_POST
@for_roles_on(SYSTEM, *RUNNING)
def alignments_decode(request: HttpRequest, row: System) -> HttpResponse:
    """Have the layer written as a job."""
    then = redirect("evaluation:system", row.name)
    with said(request, jobs.JobError, NotOffered) as tell:
        layer = text_parameter(request.POST, "layer")
        if row.corpus.layers.filter(name=layer, published=True).exists():
            raise NotOffered(_("There is a layer “%(name)s” already: choose another name.") % {"name": layer})
        arguments: dict[str, Any] = {
            "system": row.name,
            "layer": layer,
            "split": which_in(request.POST, "split", row.corpus, or_all=True),
            "beta": _beta(text_parameter(request.POST, "beta")),
        }
        gold = text_parameter(request.POST, "gold")
        if gold:
            if not row.corpus.layers.filter(name=gold, published=True).exists():
                raise NotOffered(
                    _("There is no layer “%(name)s”: choose one of the list.") % {"name": gold[:60]}
                )
            arguments["gold"] = gold
        jobs.enqueue(
            kind="decode_alignments", arguments=arguments, corpus=row.corpus, actor=account_of(request)
        )
        tell(_("Aligning words with regions. The layer is on the corpus’s page when it is done."))
        then = redirect("evaluation:systems")
    return then


def _beta(text: str) -> float:
    """A number of at least 0; 1 where nothing is said."""
    try:
        found = float(text or 1)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise NotOffered(_("“%(given)s” is no number of at least 0.") % {"given": text[:60]})
    return found
