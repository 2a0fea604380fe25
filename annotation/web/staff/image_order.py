"""The page of which images come first."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation import campaigns
from annotation.campaigns import ordering
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign
from annotation.protocol.campaign_settings import CampaignError
from annotation.selectors.image_order import prioritised
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def image_order_change(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Which images come first. A POST gives some a priority; what is refused is kept for mending."""
    wrong, status = "", 200
    given = {"images": "", "priority": str(ordering.FIRST)}
    if request.method == "POST":
        given = {name: request.POST.get(name, "") for name in given}
        try:
            priority = _priority_in(given["priority"])
            done = campaigns.prioritise_images(
                campaign=campaign,
                images=given["images"].splitlines(),
                priority=priority,
                actor=account_of(request),
            )
            messages.success(request, _told(done, priority))
            return redirect("image_order", campaign.name)
        except CampaignError as error:
            wrong, status = str(error), 409
    about = {
        "found": prioritised(campaign),
        "given": given,
        "wrong": wrong,
        "least": ordering.LEAST,
        "most": ordering.MOST,
    }
    return render(
        request,
        "annotation/staff/order.html",
        campaign_frame(request, campaign, "overview", **about),
        status=status,
    )


def _priority_in(text: str) -> int:
    """The priority that a form gives. Raises CampaignError."""
    text = text.strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise CampaignError(
            _(
                "“%(given)s” is no priority: give a whole number from %(least)d to %(most)d; "
                "0 is the usual turn."
            )
            % {"given": text[:60], "least": ordering.LEAST, "most": ordering.MOST}
        )
    return int(text)


def _told(done: int, priority: int) -> str:
    if priority == ordering.USUAL:
        said = ngettext(
            "%(n)d image comes in its usual turn.", "%(n)d images come in their usual turn.", done
        )
    else:
        said = ngettext(
            "%(n)d image has priority %(priority)d now.", "%(n)d images have priority %(priority)d now.", done
        )
    return said % {"n": done, "priority": priority}
