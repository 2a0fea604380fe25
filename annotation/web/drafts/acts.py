"""Acts on whole drafts: create, list, delete, export and import of their settings."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.campaigns.drafts import fields, keeping
from annotation.campaigns.drafts.reading import DraftPlan
from annotation.common.roles import RESEARCHER, WHOLE_SERVER
from annotation.protocol.campaign_settings import CampaignError, as_toml
from annotation.selectors.corpora import corpora_of
from annotation.web.common.access import account_of, for_roles
from annotation.web.drafts.draft_pages import draft_frame, for_draft
from annotation.web.staff.campaign_pages import result_message


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(RESEARCHER, corpora=True)
def draft_list(request: HttpRequest) -> HttpResponse:
    """List the account's drafts, and create another: its corpus."""
    account = account_of(request)
    corpora = corpora_of(account, RESEARCHER).filter(published=True).order_by("name")
    if request.method == "POST":
        corpus = corpora.filter(name=request.POST.get("corpus", "").replace("\0", "")).first()
        then = redirect("campaign_drafts")
        with result_message(request, CampaignError):
            if corpus is None:
                raise CampaignError(_("Choose a corpus of the list."))
            draft = keeping.begin_draft(owner=account, corpus=corpus)
            then = redirect("draft_step", draft.pk, fields.CORPUS_STEP)
        return then
    about = {
        "drafts": keeping.drafts_of(account),
        "corpora": corpora,
        "chosen": request.GET.get("corpus", ""),
        "adds": account.has_role(RESEARCHER, on=WHOLE_SERVER),
    }
    return render(request, "annotation/drafts/list.html", about)


@require_POST
@for_draft
def draft_delete(request: HttpRequest, plan: DraftPlan) -> HttpResponse:
    """Delete a draft."""
    keeping.throw_away(draft=plan.draft)
    messages.success(request, _("Draft “%(name)s” deleted.") % {"name": plan.name})
    return redirect("campaign_drafts")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_draft
def draft_settings(request: HttpRequest, plan: DraftPlan) -> HttpResponse:
    """Show all settings of a draft as TOML, to be copied; POST imports them into the steps."""
    problem, status = "", 200
    text = request.POST.get("settings", as_toml(plan.settings))
    if request.method == "POST":
        try:
            keeping.import_settings(draft=plan.draft, text=text, tasks=plan.tasks)
            messages.success(request, _("The settings are taken over into the steps."))
            return redirect("draft_step", plan.draft.pk, fields.OPEN_STEP)
        except CampaignError as error:
            problem, status = str(error), 409
    return render(
        request,
        "annotation/drafts/settings.html",
        draft_frame(plan, fields.VOTES_STEP, text=text, error=problem),
        status=status,
    )
