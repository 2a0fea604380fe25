"""Mechanical Turk: a HIT whose external question is our page in MTurk's frame.

Browsers block cookies of framed pages from other sites, and a small frame is unsuitable for drawing boxes. So
the framed page needs no cookie: its address contains everything, it shows the instructions before the HIT is
accepted, then opens the tasks in a window of their own (where the session's cookie works), and, when viewed
again, shows the worker's progress. Once the visit has ended there, it submits the assignment to MTurk. It is
the only page of ours that may be framed, and only by MTurk.

Source: the requester's API reference, "ExternalQuestion"; https://docs.aws.amazon.com/AWSMechTurk, read in
November 2026. Workers see HITs on worker.mturk.com, and submit to www.mturk.com.
"""

from csp.decorators import csp_replace
from django.contrib.auth.decorators import login_not_required
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from annotation import instructions
from annotation.models import Campaign, Study, Visit
from annotation.queue.available_tasks import kinds_of
from annotation.recruitment import arrival
from annotation.task_types.base import TASK_TYPES
from annotation.workers import platform_visits
from annotation.workers.confirmation import Arrival
from annotation.workers.platform_visits import MTURK, VisitError

#: MTurk's value for an assignment that nobody has accepted.
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
#: Sites that may frame us, and to which an assignment is submitted: the market, and its sandbox.
FRAMES = ("https://worker.mturk.com", "https://workersandbox.mturk.com")
SUBMIT = ("https://www.mturk.com", "https://workersandbox.mturk.com")
#: Seconds for which the framed page's link to the tasks is valid: a HIT may be accepted for a day.
FRAMED_LINK_LIFETIME = 24 * 3600
_SIGNER = TimestampSigner(salt="annotation.mturk")


@xframe_options_exempt
@csp_replace({"frame-ancestors": list(FRAMES), "form-action": list(SUBMIT)})  # type: ignore[arg-type]
@login_not_required
@never_cache
@require_safe
def mturk_frame(request: HttpRequest, name: str) -> HttpResponse:
    """Show the external question: the instructions, the link to the tasks, and the submission."""
    campaign = arrival.campaign_for_all(name)
    try:
        study = platform_visits.study_at(provider=MTURK, campaign=campaign)
        if request.GET.get("assignmentId", PREVIEW) == PREVIEW:
            return _preview(request, campaign, study)
        assignment, _hit, who = arrival.ids(request, "assignmentId", "hitId", "workerId")
        site = request.GET.get("turkSubmitTo", "").rstrip("/")
        if site not in SUBMIT:
            raise VisitError(_("This address does not come from Mechanical Turk. Open the HIT again there."))
    except VisitError as why:
        return render(request, "annotation/entry/mturk_refused.html", {"why": str(why)}, status=403)
    visit = (
        Visit.objects.select_related("identity", "study__campaign")
        .filter(study=study, external_id=assignment, participant=who)
        .exclude(verification=Visit.REFUSED)
        .first()
    )
    about = {
        "campaign": campaign,
        "study": study,
        "progress": platform_visits.visit_progress(visit) if visit else None,
        "assignment": assignment,
        "submit": f"{site}/mturk/externalSubmit",
        "way": _SIGNER.sign_object([assignment, who]),
        "again": request.get_full_path(),
    }
    return render(request, "annotation/entry/mturk.html", about)


@login_not_required
@never_cache
@require_safe
def mturk_begin(request: HttpRequest, name: str, way: str) -> HttpResponse:
    """Sign the worker in, in the window that the framed page opened."""
    campaign = arrival.campaign_for_all(name)
    try:
        try:
            assignment, who = _SIGNER.unsign_object(way, max_age=FRAMED_LINK_LIFETIME)
        except BadSignature:
            raise VisitError(
                _("This link has expired. Go back to the HIT and open the tasks from there.")
            ) from None
        study = platform_visits.study_at(provider=MTURK, campaign=campaign)
        return arrival.let_in(request, Arrival(study, who, assignment, arrival.here(request)))
    except VisitError as why:
        return arrival.error_page(request, why)


def _preview(request: HttpRequest, campaign: Campaign, study: Study) -> HttpResponse:
    texts = [
        (TASK_TYPES.get(kind).title, instructions.current_text(campaign=campaign, kind=kind))
        for kind in kinds_of(campaign)
    ]
    return render(
        request, "annotation/entry/mturk.html", {"campaign": campaign, "study": study, "texts": texts}
    )


urlpatterns = [
    path("mturk/<slug:name>/", mturk_frame, name="mturk"),
    path("mturk/<slug:name>/begin/<str:way>/", mturk_begin, name="mturk_begin"),
]
