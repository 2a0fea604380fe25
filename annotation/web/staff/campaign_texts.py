"""The page on which a campaign's instructions and its consent text are read and written anew."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import instructions
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Consent, Instructions
from annotation.protocol.campaign_settings import CampaignError
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.wording import kind_in_words


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_text_edit(
    request: HttpRequest, campaign: Campaign, kind: str = instructions.CONSENT
) -> HttpResponse:
    """One text of a campaign: what workers read, a form to write it anew, all versions. A POST writes."""
    if kind not in (instructions.CONSENT, *campaign.kinds):
        raise Http404(_("There is no text of “%(kind)s”.") % {"kind": kind})
    now = instructions.current_text(campaign=campaign, kind=kind)
    wrong, status, given = "", 200, now.text
    if request.method == "POST":
        given = request.POST.get("text", "").replace("\0", "")
        try:
            new = instructions.publish_text(
                campaign=campaign,
                kind=kind,
                text=given,
                seen=query_number(request.POST, "version") or 0,
                actor=account_of(request),
            )
            said = _("Published: workers now read version %(number)d.") % {"number": new.version}
            messages.success(
                request, said if new != now else _("The text is the same as before; nothing was published.")
            )
            return redirect("text", campaign.name, kind)
        except instructions.StaleText as error:
            wrong, status = str(error), 412
        except CampaignError as error:
            wrong, status = str(error), 409
    agreed = Consent.objects.filter(text__campaign=campaign, text__version=now.version).count()
    versions: list[Instructions] = instructions.text_versions(campaign=campaign, kind=kind)
    return render(
        request,
        "annotation/staff/texts.html",
        campaign_frame(
            request,
            campaign,
            "texts",
            kind=kind,
            kinds=[(each, _name(each)) for each in (instructions.CONSENT, *campaign.kinds)],
            title=_name(kind),
            text=now,
            given=given,
            versions=versions,
            agreed=agreed if kind == instructions.CONSENT else None,
            wrong=wrong,
        ),
        status=status,
    )


def _name(kind: str) -> str:
    """What a text is of, in words."""
    return _("consent") if kind == instructions.CONSENT else str(kind_in_words(kind))
