"""Pages of the error analysis of a layer: samples with their rates, and a mention of one to be judged."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.common.operations import OperationContext, operation_named
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets.contents import error_samples
from annotation.datasets.contents.error_samples import (
    RIGHT,
    VERDICTS,
    ErrorSampleRequest,
    ErrorSamplesRequest,
)
from annotation.models import Corpus, ErrorSample, SampledMention
from annotation.operations.dataset_figures import error_tables
from annotation.selectors import browse
from annotation.web.common.access import CORPUS_OF_ADDRESS, account_of, for_roles_on
from annotation.web.common.request_forms import RequestForm
from annotation.web.corpus.browse import size_of
from annotation.web.corpus.inspection import inspect

#: The keys of the verdicts on each part: of "right", then of the kinds of errors.
_KEYS = {"chunk": "1234", "chain": "qwer", "boxes": "asdf"}


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, REVIEWER, RESEARCHER)
def error_sample_list(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """List the samples of a corpus with their rates, and the form that draws one."""
    account = account_of(request)
    context = OperationContext(account)
    samples = error_samples.list_error_samples(ErrorSamplesRequest(corpus=corpus.name), context)
    lines = []
    for row in samples.rows.order_by("-pk"):  # type: ignore[union-attr]
        summary = samples.result(row)
        rates = error_samples.error_rates(
            ErrorSampleRequest(corpus=corpus.name, sample=summary.number), context
        )
        tables = [
            (title, table.head, [table.cells(line) for line in table.rows], table.remarks)
            for title, table in error_tables(rates).items()
            if table.rows
        ]
        lines.append((summary, tables if summary.judged else []))
    form = RequestForm(operation_named("draw_error_sample"), account, initial={"corpus": corpus.name})
    return render(
        request,
        "annotation/error_samples.html",
        {
            "corpus": corpus,
            "samples": lines,
            "form": form,
            "layers": browse.layers_of(corpus),
            "operation": operation_named("error_rates"),
        },
    )


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, REVIEWER, RESEARCHER)
def error_sample_next(request: HttpRequest, corpus: Corpus, sample: int) -> HttpResponse:
    """Redirect to the first mention of a sample that nobody has judged; to the list if there is none."""
    row = _sample(corpus, sample)
    waiting = row.mentions.filter(judged_at__isnull=True).order_by("position")
    position = waiting.values_list("position", flat=True).first()
    if position is None:
        return redirect("error_samples", corpus.name)
    return redirect("sampled_mention", corpus.name, sample, position)


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, REVIEWER, RESEARCHER)
def sampled_mention(request: HttpRequest, corpus: Corpus, sample: int, position: int) -> HttpResponse:
    """Show a mention of a sample with its chain and boxes, and the form of the verdicts."""
    row = _sample(corpus, sample)
    mentions = SampledMention.objects.filter(sample=row).select_related("image", "caption")
    mention = mentions.filter(position=position).first()
    if mention is None:
        message = _("Sample %(sample)d has no mention %(position)d.")
        raise Http404(message % {"sample": sample, "position": position})
    rows = browse.layer_rows(mention.image, row.layer)
    spans = {(m.caption_id, m.start, m.end): m for m in rows.mentions}
    now = spans.get((mention.caption_id, mention.start, mention.end))
    numbers = {chain.pk: number for number, chain in enumerate(rows.chains, start=1)}
    number = numbers.get(now.chain_id or 0, 0) if now is not None else 0
    seen = inspect(
        mention.image,
        browse.captions_by_number(mention.image),
        rows,
        size=size_of(mention.image),
        lit=number,
    )
    last = row.mentions.count()
    after = reverse("error_sample_next", args=[corpus.name, sample])
    if mention.judged_at is not None and position < last:
        after = reverse("sampled_mention", args=[corpus.name, sample, position + 1])
    form = RequestForm(operation_named("judge_sampled_mention"), account_of(request))
    about: dict[str, Any] = {
        "corpus": corpus,
        "image": mention.image,
        "layer": row.layer,
        "seen": seen,
        "sample": row,
        "mention": mention,
        "phrase": " ".join(mention.caption.words[mention.start : mention.end]),
        "categories": now.categories.split("/") if now is not None else [],
        "gone": now is None,
        "chain": next((chain for chain in seen.chains if chain.number == number), None),
        "parts": [
            _choices(form, part, getattr(mention, part))
            for part in VERDICTS
            if part != "boxes" or mention.visual
        ],
        "last": last,
        "before": reverse("sampled_mention", args=[corpus.name, sample, position - 1])
        if position > 1
        else "",
        "after": after,
    }
    return render(request, "annotation/sampled_mention.html", about)


def _choices(form: RequestForm, part: str, chosen: str) -> dict[str, Any]:
    """Return the field of a part: its label, and for each verdict its key, and whether it is chosen."""
    return {
        "name": part,
        "label": form.fields[part].label,
        "choices": [
            (key, verdict, label, verdict == (chosen or RIGHT))
            for key, (verdict, label) in zip(_KEYS[part], VERDICTS[part].items(), strict=True)
        ],
    }


def _sample(corpus: Corpus, number: int) -> ErrorSample:
    row = ErrorSample.objects.select_related("layer").filter(layer__corpus=corpus, pk=number).first()
    if row is None:
        raise Http404(_("There is no sample %(number)d here.") % {"number": number})
    return row
