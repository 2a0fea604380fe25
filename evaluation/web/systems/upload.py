"""The page that adds what systems made elsewhere: embeddings, scores, runs, captions, tags, or
localizations, as files."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.formats import localize
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation.common.files import LARGEST_FORM
from annotation.common.operations import operation_named
from annotation.web.common.access import RUNNING, for_roles
from evaluation.services.captions.files import ImportedCaptions
from evaluation.services.common import MOST_READ
from evaluation.services.runs.files import RunReport
from evaluation.services.systems.upload import AddedSystem
from evaluation.services.tagging.files import ImportedTags
from evaluation.web import visible
from evaluation.web.page_context import page_context
from evaluation.web.submitted_forms import submitted_form
from evaluation.web.systems.localizations import remarks_on_import

#: The operations whose forms the page has.
_OPERATIONS = ("add_system", "import_run", "import_captions", "import_tags", "import_localizations")


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def system_upload(request: HttpRequest) -> HttpResponse:
    """Import a file, all of it or nothing."""
    forms = {name: submitted_form(request, operation_named(name), act=name) for name in _OPERATIONS}
    for form in forms.values():
        if form.result is not None:
            return _added(request, form.result)
    return render(
        request,
        "evaluation/bring.html",
        page_context(
            "systems",
            deeper=True,
            corpora=visible.visible_corpora(request),
            forms=[form.form for form in forms.values()],
            largest=filesizeformat(LARGEST_FORM),
            largest_read=filesizeformat(MOST_READ),
            error="".join(form.error for form in forms.values()),
        ),
        status=max(form.status for form in forms.values()),
    )


def _added(request: HttpRequest, added: Any) -> HttpResponse:
    """Return the page of what was added."""
    remarks: Sequence[str] = ()
    match added:
        case AddedSystem():
            name, page, done = added.system, "evaluation:system", _("System “%(name)s” was added.")
            remarks = added.remarks
        case RunReport():
            name, page, done = added.run, "evaluation:run", _("Run “%(name)s” was added.")
            remarks = added.remarks
        case ImportedCaptions():
            name, page, done = added.name, "evaluation:captions", _("Caption set “%(name)s” was added.")
        case ImportedTags():
            name, page, done = added.name, "evaluation:tags", _("Tag set “%(name)s” was added.")
            remarks = _remarks_on_tags(added)
        case _:
            name, page = added.name, "evaluation:localizations"
            done = _("Localization set “%(name)s” was added.")
            remarks = remarks_on_import(added)
    if added.unchanged:
        done = _("“%(name)s” of this file already exists: nothing has changed.")
    messages.success(request, done % {"name": name})
    for remark in remarks:
        messages.warning(request, remark)
    return redirect(page, name)


def _remarks_on_tags(imported: ImportedTags) -> list[str]:
    if not imported.reordered:
        return []
    remark = ngettext(
        "The tags of %(number)s image were not in the order of their scores, and were put in it.",
        "The tags of %(number)s images were not in the order of their scores, and were put in it.",
        imported.reordered,
    )
    return [remark % {"number": localize(imported.reordered)}]
