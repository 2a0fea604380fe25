"""Pages of campaigns as a whole: the list, opening one, one at a glance."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotation import campaigns, jobs
from annotation.campaigns import monitoring
from annotation.campaigns.drafts.opening import check_no_running_pilot, images_after_pilot, pilot_estimate
from annotation.common.operations import operation_named
from annotation.common.registry import UnknownName
from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.datasets.layer_rows import LayerError
from annotation.models import Account, Campaign
from annotation.protocol.campaign_settings import CampaignError, as_toml, settings_of, settings_of_tasks
from annotation.protocol.crowd_size import crowd_size
from annotation.protocol.kinds import all_tasks, is_page, kinds_of_tasks
from annotation.protocol.money import currency_digits
from annotation.selectors.campaign import overview
from annotation.selectors.campaign.kept import acts_on
from annotation.selectors.campaigns import campaigns_listed
from annotation.selectors.controls import unchecked_kinds
from annotation.selectors.drawing_ways import drawing_ways
from annotation.selectors.scopes import campaigns_of, corpora_of
from annotation.selectors.tags.queries import BadTagQuery
from annotation.selectors.tags.samples import draw_by_tags
from annotation.web.common.access import BROWSING, account_of, for_roles, for_roles_on
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.common.request_forms import RequestForm
from annotation.web.staff.campaign_settings import settings_in
from annotation.web.staff.campaign_tables import (
    acts_next,
    agreement_rows,
    campaign_facts,
    funnel_rows,
    kind_rows,
    told_acts,
)
from annotation.web.staff.frame import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.wording import DRAWING_WAYS_IN_WORDS, kind_in_words

#: Campaigns on a page of the list, and the ways to sort it.
CAMPAIGNS_PER_PAGE = 30
_SORTS = {
    "new": SortColumn(gettext_lazy("newest"), "id", down=True),
    "name": SortColumn(gettext_lazy("name"), "name"),
}
#: Acts of the audit on the first page.
HISTORY = 12
#: Settings as the form of a new campaign shows them for an example.
SETTINGS_EXAMPLE = """link_votes = 3

[pay]
basis = "hour"
hourly = 12.5"""


@require_safe
@for_roles(*BROWSING)
def campaign_list(request: HttpRequest) -> HttpResponse:
    """The campaigns that are open to one, searched, sorted and paged by the address; the newest first."""
    account = account_of(request)
    found = campaigns_of(account, *BROWSING).select_related("corpus")
    state = request.GET.get("state", "")
    state = state if state in Campaign.STATES else ""
    page = list_page(
        found.filter(state=state) if state else found,
        request.GET,
        sorts=_SORTS,
        number=CAMPAIGNS_PER_PAGE,
        also={"state": state},
        archive=True,
    )
    about = {
        "rows": campaigns_listed(page.rows),
        "page": page,
        "state": state,
        "states": Campaign.STATES,
        "any": bool(page.rows) or found.exists(),
        "runs": account.has_role_somewhere(RESEARCHER, corpora=True),
    }
    return render(request, "annotation/staff/campaigns.html", about)


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def campaign_detail(request: HttpRequest, shown: Campaign) -> HttpResponse:
    """One campaign: what to do next, where it stands, its funnel, its questions, who did what."""
    settings = settings_of(shown.settings)
    fresh = request.GET.get("fresh") == "1"
    seen = overview(shown, settings.pay, fresh=fresh)
    history = acts_on(shown).select_related("actor")
    return render(
        request,
        "annotation/staff/campaign.html",
        campaign_frame(
            request,
            shown,
            "overview",
            acts=acts_next(
                shown,
                monitoring.alarms(shown),
                runs=account_of(request).has_role(RESEARCHER, on=shown.scope),
                adds=account_of(request).has_role(RESEARCHER, on=WHOLE_SERVER),
            ),
            facts=campaign_facts(
                seen,
                basis=settings.pay.basis,
                paged=any(map(is_page, shown.kinds)),
                unchecked=unchecked_kinds(shown),
                timed=not shown.simulated,
            ),
            stages=funnel_rows(seen.funnel) if shown.tasks == campaigns.ENTITIES else [],
            kinds=kind_rows(seen),
            agreement=agreement_rows(seen.agreement),
            ways=[
                (DRAWING_WAYS_IN_WORDS.get(each.way, each.way), each)
                for each in drawing_ways(shown, fresh=fresh)
            ],
            counted_at=seen.counted_at,
            since=seen.since,
            history=told_acts(history[:HISTORY]),
            pilot=_pilot(request, shown, settings.pay.currency),
            planned=seen.funnel.planned if shown.state != Campaign.CLOSED else 0,
            at_once=settings.machine.images_at_once,
            deletable=not campaigns.why_kept(shown),
            pausing=RequestForm(operation_named("pause_campaign"), account_of(request)),
        ),
    )


def _pilot(request: HttpRequest, shown: Campaign, currency: str) -> dict[str, Any] | None:
    """Of a pilot: how many images it left out, and what they will take; or why that cannot be told."""
    if shown.pilot is None or shown.state not in (Campaign.OPEN, Campaign.PAUSED):
        return None
    try:
        left = images_after_pilot(shown)
    except (CampaignError, UnknownName) as error:  # Tags may have been made anew since.
        return {"unreadable": str(error)}
    if not left:  # opened by command meanwhile
        return None
    return {
        "left": left,
        "estimate": pilot_estimate(shown, reader=account_of(request)),
        "currency": currency,
        "digits": f"{currency_digits(currency)}g",
    }


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(RESEARCHER, corpora=True)
def campaign_open(request: HttpRequest) -> HttpResponse:
    """Open a campaign: the form, and what becomes of it. Its images are opened by a job.

    With `like` in the address it is filled in after another campaign, whose texts and control items go along.
    """
    wrong, status = "", 200
    account = account_of(request)
    corpora = corpora_of(account, RESEARCHER).filter(published=True).order_by("name")
    like = _like(account, request.GET.get("like", ""))
    given: Any = request.POST if request.method == "POST" else _given_first(request, like)
    if request.method == "POST":
        try:
            images = _images_in(given)
            if not corpora.filter(name=given.get("corpus", "")).exists():
                raise CampaignError(
                    _("There is no corpus “%(name)s” here.") % {"name": given.get("corpus", "")[:100]}
                )
            if images.get("tags"):  # said before anything is made
                corpus = corpora.get(name=given["corpus"])
                draw_by_tags(corpus, images["tags"], seed=0, number=1, split=images["split"])
            made = _draft(given, like, account)
            check_no_running_pilot(made)
            jobs.enqueue(kind="open_images", arguments=images, campaign=made, actor=account_of(request))
            messages.success(request, _("Opening the images. The campaign opens after that."))
            return redirect("jobs", made.name)
        except (BadTagQuery, CampaignError, LayerError, UnknownName, jobs.JobError) as error:
            wrong, status = str(error), 409
    return render(
        request,
        "annotation/staff/opening.html",
        {
            "corpora": corpora,
            "tasks": all_tasks(),
            "given": given,
            "wrong": wrong,
            "crowds": [(tasks, _least_crowd(tasks)) for tasks in all_tasks()],
            "example": SETTINGS_EXAMPLE,
            "like": like,
        },
        status=status,
    )


def _least_crowd(tasks: str) -> int:
    """The fewest workers of a campaign of these tasks with the settings that such campaigns usually have."""
    return crowd_size(kinds_of_tasks(tasks), settings_of_tasks(tasks, {})).least


def _like(account: Account, name: str) -> Campaign | None:
    """The campaign that a new one shall be like, where it is open to the caller; None without a name."""
    if not name:
        return None
    found = CAMPAIGN_OF_ADDRESS(name)
    if not account.has_role(RESEARCHER, on=found.scope):
        raise CAMPAIGN_OF_ADDRESS.none(name)
    return found


def _given_first(request: HttpRequest, like: Campaign | None) -> dict[str, str]:
    """What the form of a new campaign holds at first: of another campaign, all but its name."""
    if like is None:
        return {"corpus": request.GET.get("corpus", "")}
    return {"corpus": like.corpus.name, "tasks": like.tasks, "settings": as_toml(settings_of(like.settings))}


def _draft(given: Any, like: Campaign | None, actor: Account) -> Campaign:
    """The draft that a form asks for. Raises CampaignError, also where what is asked earns nothing and nobody
    has said that this is meant."""
    asked = {
        "name": given.get("name", "").strip(),
        "corpus": given.get("corpus", ""),
        "tasks": given.get("tasks", ""),
        "settings": settings_in(given.get("settings", "")),
    }
    unpaid = settings_of(asked["settings"]).pay.unpaid(kinds_of_tasks(asked["tasks"]))
    if unpaid and given.get("unpaid") != "yes":
        raise CampaignError(
            _(
                "No pay is set for %(kinds)s: set it in the settings, under [pay], or tick that unpaid work "
                "is intended."
            )
            % {"kinds": ", ".join(str(kind_in_words(kind)) for kind in unpaid)}
        )
    if like is not None:
        return campaigns.duplicate_campaign(campaign=like, actor=actor, **asked)
    return campaigns.create_campaign(actor=actor, **asked)


def _images_in(data: Any) -> dict[str, Any]:
    """Which images a form asks for: a split, a number, those with some tags, or all. Raises CampaignError."""
    number = data.get("images", "").strip()
    if number and not (number.isascii() and number.isdigit() and len(number) < 10 and int(number)):
        raise CampaignError(_("“%(given)s” is not a number of images.") % {"given": number[:60]})
    lines = [line.strip() for line in data.get("tags", "").replace("\0", "").splitlines() if line.strip()]
    return {
        "split": data.get("split", "").strip() or None,
        "images": int(number) if number else None,
        **({"tags": lines} if lines else {}),
    }
