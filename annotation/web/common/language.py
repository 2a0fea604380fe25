"""The language of the pages, as whoever reads them has chosen it."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST
from django.views.i18n import set_language


@login_not_required
@require_POST
def choose_language(request: HttpRequest) -> HttpResponseBase:
    """Keep the chosen language in a cookie, and go back to the page that `next` names, within this host."""
    return set_language(request)
