"""Pages on which reviewers mend phrases: of one image, with what that asks again, and of all by a rule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.common.operations import Invalid, OperationContext, operation_named, read_request
from annotation.models import Campaign, Flag, OpenImage
from annotation.moderation import mending
from annotation.moderation.mending import MendPhrasesRequest, MendPreview
from annotation.moderation.rulings import CannotRule, rulings_in_force
from annotation.protocol.contents import mention_from
from annotation.protocol.mentions import mentions_at
from annotation.protocol.rulings import UnrelatedCaption
from annotation.protocol.terms import CATEGORIES, Mention
from annotation.selectors import review as selector
from annotation.web.common.access import BROWSING, account_of, for_roles_on
from annotation.web.common.filters import query_number
from annotation.web.common.request_forms import RequestForm
from annotation.web.corpus.browse import size_of
from annotation.web.staff.campaign_pages import CAMPAIGN_OF_ADDRESS, campaign_frame
from annotation.web.staff.corpora.phrases import words_to_mark
from annotation.web.staff.review_tables import build_review_page
from annotation.web.staff.wording import question_in_words

_RULE_FIELDS = ("campaign", "words", "act", "categories", "whole")


@dataclass(frozen=True, slots=True)
class PhraseRow:
    """A phrase in the table: its categories and noun are chosen from `choices` and its words."""

    mention: Mention
    categories: str
    choices: tuple[str, ...]
    noun: str


@dataclass(frozen=True, slots=True)
class PreviewView:
    """A preview of a mend, with its kinds of questions in words."""

    preview: MendPreview
    opened: list[tuple[str, int]]
    answers: list[tuple[str, int]]

    @property
    def total(self) -> int:
        """The number of answers to come."""
        return sum(self.preview.answers.values())


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def mend_image(request: HttpRequest, campaign: Campaign, key: str) -> HttpResponse:
    """Show the phrases of an open image; its form previews changes, and saves them."""
    try:
        row = selector.open_image(campaign=campaign.pk, key=key)
    except selector.NoSuchImage:
        raise Http404(
            _("Campaign “%(campaign)s” has no open image “%(key)s”.")
            % {"campaign": campaign.name, "key": key}
        ) from None
    error, preview = "", None
    if request.method == "POST":
        try:
            mend = _request_of(request.POST, row)
            if request.POST.get("act") == "save":
                done = mending.mend_phrases(mend, OperationContext(account_of(request)))
                messages.success(
                    request, _("Phrases saved; questions that are open now: %(n)d") % {"n": done.questions}
                )
                if done.retired:
                    retired = _("Control items that this contradicts were retired: %(items)s.")
                    messages.warning(request, retired % {"items": "; ".join(done.retired)})
                return redirect(reverse("review_image", args=[campaign.name, key]))
            preview = _preview_view(mending.preview_of(row, mending.asserted(row, mend)))
        except (CannotRule, Invalid) as problem:
            error = str(problem)
    return _mend_page(request, row, error, preview)


@require_safe
@for_roles_on(CAMPAIGN_OF_ADDRESS, *BROWSING)
def phrase_rules(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Preview a rule on the phrases of all images of a campaign; a second form applies it."""
    data = request.GET.copy() if request.GET else None
    if data is not None:
        data["campaign"] = campaign.name
    form = RequestForm(
        operation_named("preview_phrase_rule"),
        account_of(request),
        data,
        initial={"campaign": campaign.name},
        only_fields=_RULE_FIELDS,
    )
    preview = None
    if data is not None and form.is_valid():
        preview = _preview_view(
            mending.preview_phrase_rule(form.request, OperationContext(account_of(request)))
        )
    return render(
        request,
        "annotation/staff/phrase_rules.html",
        campaign_frame(request, campaign, "review", form=form, preview=preview, rule=form.request),
        status=400 if data is not None and form.errors else 200,
    )


def _request_of(data: Mapping[str, str], row: OpenImage) -> MendPhrasesRequest:
    """Return the changes of the form: what it has now against what it showed at first."""
    by_id = {mention.id: mention for mention in map(mention_from, row.mentions)}
    before, after = data.get("seen", "").split(), data.get("phrases", "").split()
    add = []
    for name in after:
        mention = by_id.get(name) if name in before else None
        categories, noun = data.get(f"categories:{name}", ""), data.get(f"noun:{name}", "")
        changed = ""
        if categories and (mention is None or categories != "/".join(mention.categories)):
            changed += f"={categories}"
        if noun and noun != (mention.noun or mention.tokens[-1] if mention is not None else ""):
            changed += f"@{noun}"
        if changed or name not in before:
            add.append(name + changed)
    marked = {ruling.caption for ruling in rulings_in_force(row) if isinstance(ruling, UnrelatedCaption)}
    unrelated = [
        n for n in range(row.image.captions.count()) if data.get(f"unrelated:{n}") and n not in marked
    ]
    report = query_number(data, "report")
    values: dict[str, Any] = {
        "campaign": row.campaign.name,
        "image": row.image.key,
        "remove": [name for name in before if name not in after],
        "add": add,
        "unrelated": unrelated,
        "comment": data.get("comment", "").strip()[:1_000],
        "report": report if data.get("handled") else None,
    }
    if not (values["remove"] or add or unrelated):
        raise CannotRule(_("Nothing was changed."))
    return read_request(MendPhrasesRequest, values)


def _mend_page(request: HttpRequest, row: OpenImage, error: str, preview: PreviewView | None) -> HttpResponse:
    """Render the page with what was sent, else with the image's phrases and what a report proposes."""
    stored = sorted(map(mention_from, row.mentions), key=lambda mention: mention.span)
    captions = mending.captions_in_words(row)
    flag_id = query_number(request.POST or request.GET, "report")
    flags = Flag.objects.filter(judgment__image=row).select_related("judgment__worker")
    report = flags.filter(pk=flag_id).first() if flag_id is not None else None
    proposal = mending.proposal_of(report, row) if report is not None else None
    seen = " ".join(mention.id for mention in stored)
    names = seen.split()
    if request.method == "POST":
        seen, names = request.POST.get("seen", ""), request.POST.get("phrases", "").split()
    elif proposal is not None:
        was, new = proposal
        names = [name for name in names if name != was.id] + [new.id]
    mentions = list(_mentions_of(names, captions, {mention.id: mention for mention in stored}))
    under_review = selector.image_under_review(campaign=row.campaign_id, key=row.image.key)
    marked = {ruling.caption for ruling in rulings_in_force(row) if isinstance(ruling, UnrelatedCaption)}
    shown = build_review_page(under_review, superseded=(), size=size_of(row.image), lit=0)
    lines = [
        (words, number in marked, bool(request.POST.get(f"unrelated:{number}")))
        for number, words in enumerate(words_to_mark(captions, mentions))
    ]
    context = campaign_frame(
        request,
        row.campaign,
        "review",
        image=row.image,
        seen=replace(shown, boxes=[]),
        before=seen,
        phrases=" ".join(mention.id for mention in mentions),
        captions=lines,
        rows=list(_rows(mentions, request.POST)),
        report=report,
        proposal=proposal,
        handled=request.method != "POST" or bool(request.POST.get("handled")),
        comment=request.POST.get("comment", report.comment if report is not None else ""),
        error=error,
        preview=preview,
    )
    return render(request, "annotation/staff/mend.html", context, status=409 if error else 200)


def _mentions_of(
    names: Sequence[str], captions: Sequence[Sequence[str]], stored: Mapping[str, Mention]
) -> Iterator[Mention]:
    """Yield the mentions of these names, without those that are in no caption."""
    spans = []
    for name in names:
        parts = name.replace("-", ":").split(":")
        if len(parts) == 3 and all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
            caption, start, end = map(int, parts)
            if caption < len(captions) and start < end <= len(captions[caption]):
                spans.append((caption, start, end))
    for mention in mentions_at(captions, dict.fromkeys(spans)):
        yield stored.get(mention.id, mention)


def _rows(mentions: Sequence[Mention], data: Mapping[str, str]) -> Iterator[PhraseRow]:
    for mention in mentions:
        stored = "/".join(mention.categories)
        choices = tuple(dict.fromkeys((*CATEGORIES, stored)))
        categories = data.get(f"categories:{mention.id}", stored)
        noun = data.get(f"noun:{mention.id}", mention.noun or mention.tokens[-1])
        yield PhraseRow(mention, categories, choices, noun)


def _preview_view(preview: MendPreview) -> PreviewView:
    opened = [(str(question_in_words(kind)), number) for kind, number in preview.opened.items()]
    answers = [(str(question_in_words(kind)), number) for kind, number in preview.answers.items()]
    return PreviewView(preview, opened, answers)
