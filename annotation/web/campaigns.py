"""Pages of campaigns as a whole: the list, opening one, one at a glance, pausing and closing it."""

from __future__ import annotations

import tomllib
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import campaigns, jobs, running
from annotation.campaign_settings import CampaignError, settings_of
from annotation.models import AuditEntry, Campaign
from annotation.protocol.questions import RELEVANCE
from annotation.rebuild import LayerError
from annotation.registry import UnknownName
from annotation.roles import EVERYTHING, RESEARCHER
from annotation.selectors.campaign import overview
from annotation.selectors.campaign.reasons import PAUSED, coded
from annotation.selectors.campaigns import listed
from annotation.selectors.drawing_ways import drawing_ways
from annotation.selectors.scopes import campaigns_of, corpora_of
from annotation.web.access import BROWSING, account_of, for_roles, for_roles_on
from annotation.web.campaign_shapes import acts_next, facts, funnel_rows, kind_rows, told_acts
from annotation.web.staff import CAMPAIGN, framed, said
from annotation.web.staff_words import WAYS

#: Acts of the audit on the first page.
HISTORY = 12


@require_safe
@for_roles(*BROWSING)
def index(request: HttpRequest) -> HttpResponse:
    """All campaigns that are open to one, the newest first."""
    account = account_of(request)
    about = {
        "rows": listed(campaigns_of(account, *BROWSING)),
        "runs": account.has_role_somewhere(RESEARCHER, corpora=True),
        "all": account.has_role(*BROWSING, on=EVERYTHING),
    }
    return render(request, "annotation/staff/campaigns.html", about)


@require_safe
@for_roles_on(CAMPAIGN, *BROWSING)
def campaign(request: HttpRequest, shown: Campaign) -> HttpResponse:
    """One campaign: what to do next, where it stands, its funnel, its questions, who did what."""
    settings = settings_of(shown.settings)
    seen = overview(shown, settings.pay)
    history = AuditEntry.objects.filter(campaign=shown).select_related("actor").order_by("-pk")
    return render(
        request,
        "annotation/staff/campaign.html",
        framed(
            request,
            shown,
            "overview",
            acts=acts_next(
                shown,
                running.alarms(shown),
                runs=account_of(request).has_role(RESEARCHER, on=shown.scope),
            ),
            facts=facts(seen, basis=settings.pay.basis, paged=shown.kinds == (RELEVANCE,)),
            stages=funnel_rows(seen.funnel) if shown.tasks == campaigns.ENTITIES else [],
            kinds=kind_rows(seen),
            ways=[(WAYS.get(each.way, each.way), each) for each in drawing_ways(shown)],
            history=told_acts(history[:HISTORY]),
        ),
    )


@require_POST
@for_roles_on(CAMPAIGN, RESEARCHER)
def move(request: HttpRequest, shown: Campaign) -> HttpResponse:
    """Pause, resume or close a campaign, as the button says."""
    actor = account_of(request)
    reason = request.POST.get("reason", "").strip()
    with said(request, CampaignError) as tell:
        match request.POST.get("act", ""):
            case "pause":
                campaigns.pause(campaign=shown, reason=reason or coded(PAUSED), actor=actor)
                tell(_("The campaign is paused: nothing is handed out; what workers hold still counts."))
            case "resume":
                campaigns.resume(campaign=shown, actor=actor)
                tell(_("The campaign is open again."))
            case "close":
                if request.POST.get("sure") != "yes":
                    raise CampaignError(_("Closing is for good: tick the box to say that you mean it."))
                campaigns.close(campaign=shown, reason=reason, actor=actor)
                tell(_("The campaign is closed."))
            case _other:
                raise CampaignError(_("Nothing was chosen: use one of the buttons."))
    return redirect("campaign", shown.name)


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(RESEARCHER, corpora=True)
def opening(request: HttpRequest) -> HttpResponse:
    """Open a campaign: the form, and what becomes of it. Its images are opened by a job."""
    wrong, status = "", 200
    corpora = corpora_of(account_of(request), RESEARCHER).filter(published=True).order_by("name")
    given: Any = request.POST if request.method == "POST" else {"corpus": request.GET.get("corpus", "")}
    if request.method == "POST":
        try:
            images = _images_in(given)
            if not corpora.filter(name=given.get("corpus", "")).exists():
                raise CampaignError(
                    _("There is no corpus “%(name)s” here.") % {"name": given.get("corpus", "")[:100]}
                )
            made = campaigns.create(
                name=given.get("name", "").strip(),
                corpus=given.get("corpus", ""),
                tasks=given.get("tasks", ""),
                settings=_settings_in(given.get("settings", "")),
                actor=account_of(request),
            )
            jobs.enqueue(kind="open_images", arguments=images, campaign=made, actor=account_of(request))
            messages.success(request, _("Its images are being opened. The campaign opens when they are."))
            return redirect("jobs", made.name)
        except (CampaignError, LayerError, UnknownName, jobs.JobError) as error:
            wrong, status = str(error), 409
    return render(
        request,
        "annotation/staff/opening.html",
        {
            "corpora": corpora,
            "tasks": campaigns.TASKS,
            "given": given,
            "wrong": wrong,
            "smallest": campaigns.SMALLEST_CROWD,
        },
        status=status,
    )


def _settings_in(text: str) -> dict[str, Any]:
    """The settings of a TOML text. Raises CampaignError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CampaignError(_("The settings are no TOML: %(error)s") % {"error": error}) from error


def _images_in(data: Any) -> dict[str, Any]:
    """Which images a form asks for: a split, a number of them, or all. Raises CampaignError."""
    number = data.get("images", "").strip()
    if number and not (number.isascii() and number.isdigit() and 0 < int(number) < 10**9):
        raise CampaignError(_("“%(given)s” is no number of images.") % {"given": number[:60]})
    return {"split": data.get("split", "").strip() or None, "images": int(number) if number else None}
