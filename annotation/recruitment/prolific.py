"""Prolific: participants arrive by a link with their ids, and return with a completion code.

Source: Prolific's API reference, "Webhooks" (Receiving, Verifying, X-Event-ID, X-Timestamp) and "Submission
object"; https://docs.prolific.com, read in November 2026.
"""

import base64
import hashlib
import hmac
import logging
import re
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from annotation.common import database
from annotation.common.addresses import site_host
from annotation.common.operations import read_json
from annotation.recruitment import arrival
from annotation.workers import confirmation, platform_visits, prolific_api
from annotation.workers.confirmation import Arrival
from annotation.workers.platform_visits import PROLIFIC, VisitError
from annotation.workers.prolific_api import (
    PARTICIPANT,
    STUDY,
    SUBMISSION,
    Away,
    BadLink,
    Link,
    SubmissionReport,
)

_log = logging.getLogger(__name__)

#: Where participants return, and the target that a form may have.
SITE = "https://app.prolific.com"
#: Maximum age of a webhook in seconds, also ahead of our clock.
WINDOW = 300
#: A time in their headers: seconds since 1970.
_TIME = re.compile(r"\d{9,10}(\.\d{1,9})?")


def completion_address(code: str) -> str:
    """Return the address to which a participant returns with `code`."""
    return f"{SITE}/submissions/complete?{urlencode({'cc': code})}"


@login_not_required
@never_cache
@require_safe
def prolific_enter(request: HttpRequest, name: str) -> HttpResponse:
    """Sign in the participant of a study's link, in place of any earlier user."""
    campaign = arrival.campaign_for_all(name)
    try:
        who, study, submission = arrival.ids(request, PARTICIPANT, STUDY, SUBMISSION)
        study_row = platform_visits.study_at(provider=PROLIFIC, campaign=campaign, external_id=study)
        link, spoilt = _link(request, (who, study, submission))
        came = Arrival(study_row, who, submission, arrival.here(request), link, spoilt)
        return arrival.let_in(request, came)
    except VisitError as why:
        return arrival.error_page(request, why)
    except Away as why:
        _log.warning("%s", why)
        later = VisitError(_("Prolific's signature cannot be checked right now. Try again in a minute."))
        return arrival.error_page(request, later, 503)


def _link(request: HttpRequest, ids: tuple[str, ...]) -> tuple[Link | None, bool]:
    """Return what the link proves, and whether it has a signature that does not match these ids.

    Raises Away if links must be signed and the keys are unavailable.
    """
    token = request.GET.get("prolific_token", "")
    if not token:
        return None, False
    try:
        link = prolific_api.read_link(token, host=site_host())
        if (link.participant, link.study, link.submission) == ids:
            return link, False
        _log.warning("a signed link came with other ids in its address")
    except BadLink as why:
        _log.warning("a link is not taken: %s", why)
    except Away:
        if settings.PROLIFIC_SIGNED_LINKS:
            raise
        return None, False
    return None, True


@csrf_exempt
@login_not_required
@require_POST
def prolific_webhook(request: HttpRequest) -> HttpResponse:
    """Receive Prolific's report about a submission. A repeated or late one changes nothing.

    401 if the signature is invalid, or too old; 400 if the body cannot be parsed.
    """
    if (request.content_type or "").startswith("multipart/"):
        # It was read as a form: the body is consumed, and Prolific's is JSON.
        return JsonResponse({"error": "the body is no event"}, status=400)
    sent_at = _signed_at(request)
    if sent_at is None:
        return JsonResponse({"error": "the signature is not valid, or too old"}, status=401)
    try:
        event: Any = read_json(request.body)
        kind = event["event_type"]
        if kind != "submission.status.change":
            return JsonResponse({"changed": False})
        about = {name: event[name] for name in ("resource_id", "participant_id", "status")}
    except (ValueError, KeyError, TypeError):
        return JsonResponse({"error": "the body is no event"}, status=400)
    if not all(
        isinstance(value, str) and 0 < len(value) <= 40 and "\0" not in value for value in about.values()
    ):
        return JsonResponse({"error": "the body is no event"}, status=400)
    changed = confirmation.note_submission(
        provider=PROLIFIC,
        report=SubmissionReport(about["participant_id"], (), prolific_api.normalised_status(about["status"])),
        submission=about["resource_id"],
        # The time of the event; a delivery that is retried is sent later.
        at=min(_time(request.headers.get("X-Timestamp", "")) or sent_at, sent_at),
    )
    return JsonResponse({"changed": changed})


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of X-Prolific-Request-Signature."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _signed_at(request: HttpRequest) -> datetime | None:
    """Return when a webhook was signed; None if not by Prolific, or outside the window."""
    secret = settings.PROLIFIC_WEBHOOK_SECRET
    timestamp = request.headers.get("X-Prolific-Request-Timestamp", "")
    received = request.headers.get("X-Prolific-Request-Signature", "")
    expected = signature(secret, timestamp, request.body)
    if not secret or not hmac.compare_digest(received.encode(), expected.encode()):
        return None
    sent_at = _time(timestamp)
    return (
        sent_at if sent_at is not None and abs((database.now() - sent_at).total_seconds()) <= WINDOW else None
    )


def _time(text: str) -> datetime | None:
    return datetime.fromtimestamp(float(text), UTC) if _TIME.fullmatch(text) else None


urlpatterns = [
    path("prolific/webhook/", prolific_webhook, name="prolific_webhook"),
    path("prolific/<slug:name>/", prolific_enter, name="prolific"),
]
