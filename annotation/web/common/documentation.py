"""The documentation, as built by `make docs`, for all signed-in accounts."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import SuspiciousFileOperation
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.static import serve


@require_safe
@login_required
def documentation(request: HttpRequest, page: str) -> HttpResponseBase:
    """Serve a file of the documentation's site, or a page that says how to build it."""
    site = Path(settings.DOCS_SITE)
    if not (site / "index.html").is_file():
        raise Http404(_("The documentation is not built on this server. To build it, run “make docs” there."))
    try:
        return serve(request, page or "index.html", document_root=str(site))
    except SuspiciousFileOperation:  # an address that leads out of the folder
        raise Http404 from None
