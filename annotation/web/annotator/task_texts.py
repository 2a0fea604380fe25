"""Texts that an annotator reads before a task: a kind's instructions, and a campaign's consent text."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation import instructions
from annotation.common.operations import operation_named
from annotation.common.roles import ANNOTATOR
from annotation.instructions import CONSENT, CampaignText
from annotation.models import Campaign, Identity, Judgment, TrustState
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.trust_settings import GoldCoverage, practice_is_entry
from annotation.quality import controls
from annotation.queue.available_tasks import kinds_of
from annotation.task_types.practice import PRACTICE
from annotation.web.annotator.work_context import (
    SeeOther,
    WorkContext,
    campaign_of_request,
    form_number,
    work_of_request,
    worker_at,
)
from annotation.web.common.access import account_of, for_roles
from annotation.web.common.request_forms import RequestForm
from annotation.workers.accounts.country import country_names, store_own_country
from phrasebox.errors import PhraseboxError

#: Session key of the instructions that were read: "campaign:kind" to version.
READ = "instructions_read"
#: Session key of practice, if that is the entry: "campaign:kind" to {item's number: right}.
PRACTISED = "practised"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def instructions_page(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """Show the instructions of a task; POST confirms that they were read, and continues to the work."""
    work = work_of_request(request, name, kind)
    text = text_of(campaign=work.campaign, kind=kind)
    practise = practice_due(request, work)
    if request.method == "POST":
        if practise:
            return SeeOther(reverse("task_practice", args=[name, kind]))
        request.session[READ] = {**request.session.get(READ, {}), _mark(work): text.version}
        return SeeOther(work.address)
    about = {"work": work, "text": text, "practise": practise, "owner": work.worker.pk}
    about["limits"] = work.type.limits(settings_of(work.campaign.settings).answers.number)
    return render(request, "annotation/tasks/instructions.html", about)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def consent_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show how a campaign uses its workers' data; POST consents to it."""
    campaign, worker = campaign_of_request(request, name), worker_at(request)
    then = _next_page(request, campaign)
    if request.method == "POST":
        version = form_number(request.POST.get("version", ""))
        try:
            instructions.record_consent(worker=worker.pk, campaign=campaign, version=version)
        except instructions.StaleText as error:
            messages.warning(request, str(error))
            return SeeOther(request.get_full_path())
        return SeeOther(then)
    text = text_of(campaign=campaign, kind=CONSENT)
    needed = instructions.needs_consent(worker=worker.pk, campaign=campaign)
    return render(
        request,
        "annotation/tasks/consent.html",
        {
            "campaign": campaign,
            "text": text,
            "contact": settings.CONTACT_EMAIL,
            "needed": needed,
            "then": then,
            "owner": worker.pk,
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_roles(ANNOTATOR)
def country_page(request: HttpRequest, name: str) -> HttpResponse:
    """Ask a worker's country before the first task of a campaign that depends on it; POST stores it."""
    campaign, worker = campaign_of_request(request, name), worker_at(request)
    then = _next_page(request, campaign)
    sent = request.POST if request.method == "POST" else None
    form = RequestForm(operation_named("say_country"), account_of(request), sent)
    if sent is not None and form.is_valid():
        try:
            store_own_country(worker, form.request.country)
        except PhraseboxError as error:
            messages.warning(request, str(error))
        return SeeOther(then)
    known = Identity.objects.filter(worker=worker).values_list("country", flat=True).first()
    about = {"campaign": campaign, "form": form, "then": then, "owner": worker.pk}
    about["known"] = country_names()[known] if known else ""
    return render(request, "annotation/tasks/country.html", about, status=400 if form.errors else 200)


def _next_page(request: HttpRequest, campaign: Campaign) -> str:
    """Return the address of the task from which the worker came, else of the list of tasks."""
    kind = request.GET.get("kind", "")
    return reverse("task", args=[campaign.name, kind]) if kind in kinds_of(campaign) else reverse("tasks")


def text_of(*, campaign: Campaign, kind: str) -> CampaignText:
    """Return the text of a kind for workers, in the language of the page if it has an equivalent
    translation."""
    return instructions.text_in_language(
        instructions.current_text(campaign=campaign, kind=kind), get_language()
    )


def has_read(request: HttpRequest, work: WorkContext, text: CampaignText) -> bool:
    """Whether the worker confirmed the text in this session, or answered under exactly these instructions."""
    if request.session.get(READ, {}).get(_mark(work)) == text.version:
        return True
    return Judgment.objects.filter(
        campaign=work.campaign, worker=work.worker, kind=work.kind, instructions=text.version
    ).exists()


def practice_due(request: HttpRequest, work: WorkContext) -> bool:
    """Whether the worker must practise before beginning: without a test, practice is the only entry.

    It ends when enough of the graded items were right in this session; a worker who has worked needs none.
    """
    rules, known = settings_of(work.campaign.settings).trust, known_at(work)
    if not practice_is_entry(work.kind, rules, known):
        return False
    row = TrustState.objects.filter(campaign=work.campaign, worker=work.worker, kind=work.kind).first()
    if row is not None and (row.items or row.examined_items):
        return False
    graded = [number for number, item in enumerate(PRACTICE.get(work.kind).items, 1) if item.right]
    answered = request.session.get(PRACTISED, {}).get(_mark(work), {})
    right = sum(bool(answered.get(str(number))) for number in graded)
    return right < rules.bar_of(work.kind) * len(graded)


def note_practice(request: HttpRequest, work: WorkContext, number: int, right: bool) -> None:
    """Store in the session the latest result of an item of practice, if practice is the entry."""
    if practice_is_entry(work.kind, settings_of(work.campaign.settings).trust, known_at(work)):
        before = request.session.get(PRACTISED, {})
        of_kind = {**before.get(_mark(work), {}), str(number): right}
        request.session[PRACTISED] = {**before, _mark(work): of_kind}


def known_at(work: WorkContext) -> GoldCoverage:
    """Return the campaign's gold coverage of the kind of question."""
    return controls.gold_coverage(work.campaign.pk, work.kind, work.campaign.revision)


def _mark(work: WorkContext) -> str:
    return f"{work.campaign.pk}:{work.kind}"
