"""The page on which a campaign's instructions and its consent text are read and written anew."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation import instructions
from annotation.common.operations import operation_named
from annotation.common.roles import RESEARCHER
from annotation.models import Campaign, Consent, Instructions
from annotation.web.common.access import account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.wording import kind_in_words


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, RESEARCHER)
def campaign_text_edit(
    request: HttpRequest, campaign: Campaign, kind: str = instructions.CONSENT
) -> HttpResponse:
    """One text of a campaign: what workers read, a form to write it anew, all versions."""
    if kind not in (instructions.CONSENT, *campaign.kinds):
        raise Http404(_("There is no text of “%(kind)s”.") % {"kind": kind})
    now = instructions.current_text(campaign=campaign, kind=kind)
    form = RequestForm(operation_named("publish_text"), account_of(request), initial={"text": now.text})
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
            kinds=[(text_kind, _name(text_kind)) for text_kind in (instructions.CONSENT, *campaign.kinds)],
            title=_name(kind),
            text=now,
            form=form,
            versions=versions,
            agreed=agreed if kind == instructions.CONSENT else None,
        ),
    )


def _name(kind: str) -> str:
    """What a text is of, in words."""
    return _("consent") if kind == instructions.CONSENT else str(kind_in_words(kind))
