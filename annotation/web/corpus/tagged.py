"""Pages of a corpus's tags: the list with frequencies, and a file."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.models import Corpus
from annotation.selectors.browse import Filter
from annotation.selectors.tags.queries import BadTagQuery, read_tag_query, written_tag
from annotation.selectors.tags.stored import (
    TAGS_PER_PAGE,
    ScoredTag,
    frequent_tags,
    tag_list_of,
    tagged_images,
    unknown_tags,
)
from annotation.web.common.access import BROWSING, CORPUS_OF_ADDRESS, for_roles_on
from annotation.web.common.filters import filter_query, query_number
from phrasebox.spreadsheets import escape_formula

#: Decimal digits of a score in a file.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class UnfoundTags:
    """Why a query for tags has no results: an error `wrong`, or `unknown` tags, each with the addresses of
    the same query with a similarly spelled tag."""

    error: str = ""
    unknown: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.error or self.unknown)


def unfound_tags(corpus: Corpus, selection: Filter, layer: str) -> UnfoundTags:
    """Return the tags of a filter that the corpus lacks, with alternatives; empty if there are none."""
    if not selection.tags:
        return UnfoundTags()
    try:
        query = read_tag_query(selection.tags)
    except BadTagQuery as error:
        return UnfoundTags(str(error))
    unknown = unknown_tags(corpus, query) if query is not None else {}

    def instead(tag: str, alternative: str) -> str:
        assert query is not None
        choices = (
            " and ".join(written_tag(alternative if known == tag else known) for known in choice)
            for choice in query.choices
        )
        return filter_query(replace(selection, tags=" or ".join(choices)), layer)

    return UnfoundTags(
        unknown=tuple(
            (tag, tuple((alternative, instead(tag, alternative)) for alternative in alike))
            for tag, alike in unknown.items()
        )
    )


def tag_address(corpus: Corpus, tag: str) -> str:
    """Return the address of the page with the corpus's images that have a tag."""
    return f"{reverse('corpus', args=[corpus.name])}?{urlencode({'tags': written_tag(tag)})}"


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, *BROWSING)
def corpus_tags(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """List the tags of a corpus, the most frequent first, in pages."""
    tag_list = tag_list_of(corpus)
    contains = request.GET.get("contains", "").replace("\0", "").strip()[:100]
    skip = query_number(request.GET, "skip") or 0
    page = frequent_tags(tag_list, contains=contains, skip=skip) if tag_list is not None else None
    more: dict[str, Any] = {"contains": contains} if contains else {}
    return render(
        request,
        "annotation/tags.html",
        {
            "corpus": corpus,
            "tag_list": tag_list,
            "contains": contains,
            "tags": [(tag, tag_address(corpus, tag.text)) for tag in page.tags] if page else [],
            "earlier": f"?{urlencode({**more, 'skip': max(0, skip - TAGS_PER_PAGE)})}" if skip else "",
            "later": f"?{urlencode({**more, 'skip': skip + TAGS_PER_PAGE})}" if page and page.more else "",
        },
    )


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, *BROWSING)
def corpus_tags_export(request: HttpRequest, corpus: Corpus, form: str) -> HttpResponseBase:
    """Export the tags of all images, in the formats of `rank_tags`: JSON lines, or a table with a row for
    each tag."""
    if tag_list_of(corpus) is None:
        raise Http404(_("Corpus “%(name)s” has no tags.") % {"name": corpus.name})
    images = tagged_images(corpus)
    lines, type = (_table(images), "text/csv") if form == "csv" else (_lines(images), "application/jsonl")
    answer = StreamingHttpResponse(lines, content_type=f"{type}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{corpus.name}-tags.{form}"'
    return answer


def _lines(images: Iterator[tuple[str, list[ScoredTag]]]) -> Iterator[str]:
    for image, tags in images:
        pairs = [[tag.text, round(tag.score, _DIGITS)] for tag in tags]
        yield json.dumps({"image": image, "tags": pairs}, ensure_ascii=False) + "\n"


def _table(images: Iterator[tuple[str, list[ScoredTag]]]) -> Iterator[str]:
    table = csv.writer(_Echo(), lineterminator="\n")
    yield table.writerow(("image", "tag", "score"))
    for image, tags in images:
        for tag in tags:
            row = (escape_formula(image), escape_formula(tag.text), round(tag.score, _DIGITS))
            yield table.writerow(row)


class _Echo:
    """A file whose `write` returns its argument."""

    def write(self, text: str) -> str:
        return text
