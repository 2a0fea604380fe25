"""Messages of researchers, as their worker meets them."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.common.database import LARGEST_ID
from annotation.common.roles import ANNOTATOR
from annotation.web.annotator.task_place import SeeOther, worker_at
from annotation.web.common.access import for_roles
from annotation.workers import messages


@require_POST
@for_roles(ANNOTATOR)
def message_read(request: HttpRequest, message: int) -> HttpResponse:
    """Note that I have read a message, and go back to where it stood."""
    if message > LARGEST_ID or not messages.mark_read(worker=worker_at(request), message=message):
        raise Http404(_("You have no message %(number)d.") % {"number": message})
    then = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(then, allowed_hosts={request.get_host()})
    return SeeOther(then if safe else reverse("tasks"))
