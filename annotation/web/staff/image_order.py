"""The page of which images come first."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign
from annotation.selectors.image_order import prioritised
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def image_order_change(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Which images come first, and the form that changes it."""
    form = RequestForm(operation_named("prioritise_images"), account_of(request))
    frame = campaign_frame(request, campaign, "overview", priorities=prioritised(campaign), form=form)
    return render(request, "annotation/staff/order.html", frame)
