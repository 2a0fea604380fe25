"""The page that adds systems made elsewhere: embeddings, scores, runs, or localizations, as files."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.common.files import LARGEST_FORM
from annotation.common.operations import operation_named
from annotation.web.common.access import RUNNING, for_roles
from evaluation.services.common import MOST_READ
from evaluation.services.localizations.files import ImportedLocalizations
from evaluation.services.runs.files import RunReport
from evaluation.services.systems.upload import AddedSystem
from evaluation.web import visible
from evaluation.web.page_context import page_context
from evaluation.web.submitted_forms import submitted_form
from evaluation.web.systems.localizations import remarks_on_import

#: The operations whose forms the page has.
_OPERATIONS = ("add_system", "import_run", "import_localizations")


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


def _added(request: HttpRequest, added: AddedSystem | RunReport | ImportedLocalizations) -> HttpResponse:
    """Return the page of what was added."""
    remarks = added.remarks if not isinstance(added, ImportedLocalizations) else remarks_on_import(added)
    match added:
        case AddedSystem():
            name, page, done = added.system, "evaluation:system", _("System “%(name)s” was added.")
        case RunReport():
            name, page, done = added.run, "evaluation:run", _("Run “%(name)s” was added.")
        case _:
            name, page, done = (
                added.name,
                "evaluation:localizations",
                _("Localization set “%(name)s” was added."),
            )
    if added.unchanged:
        done = _("“%(name)s” of this file already exists: nothing has changed.")
    messages.success(request, done % {"name": name})
    for remark in remarks:
        messages.warning(request, remark)
    return redirect(page, name)
