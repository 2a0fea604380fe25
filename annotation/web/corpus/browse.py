"""Pages to look at corpora and their images: home, one corpus, one image."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.common.roles import ANNOTATOR, RESEARCHER, WHOLE_SERVER
from annotation.datasets.layers import update_layers, update_layers_of_image
from annotation.images.pictures import picture_size
from annotation.models import Campaign, Corpus, Image, Layer
from annotation.protocol.terms import CATEGORIES
from annotation.selectors import browse
from annotation.selectors.browse import Filter
from annotation.selectors.scopes import corpora_of
from annotation.selectors.tags.kept import tag_list_of, tags_of_image
from annotation.web.common.access import BROWSING, CORPUS_OF_ADDRESS, account_of, for_roles, for_roles_on
from annotation.web.common.filters import filter_in, filter_query, layer_in, query_number
from annotation.web.common.first_steps import first_steps
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.corpus.inspection import inspect
from annotation.web.corpus.tagged import tag_address, unfound_tags

#: Corpora on a page of the list, and the ways to sort it.
CORPORA_PER_PAGE = 20
_SORTS = {
    "name": SortColumn(gettext_lazy("name"), "name"),
    "new": SortColumn(gettext_lazy("newest"), "id", down=True),
    "images": SortColumn(gettext_lazy("images"), "image_count", down=True),
}


@require_safe
@for_roles(*BROWSING, ANNOTATOR)
def home(request: HttpRequest) -> HttpResponse:
    """The published corpora that are open to one, each with a strip of its pictures; searched, sorted and
    paged by the address. Who only annotates goes to their tasks."""
    account = account_of(request)
    if not account.has_role_somewhere(*BROWSING):
        return redirect("tasks")
    if not account.has_role_somewhere(*BROWSING, corpora=True):
        return redirect("campaigns")  # their roles are for campaigns alone
    found = corpora_of(account, *BROWSING).filter(published=True)
    page = list_page(found, request.GET, sorts=_SORTS, number=CORPORA_PER_PAGE)
    about = {
        "corpora": browse.corpus_rows(page.rows),
        "page": page,
        "any": bool(page.rows) or found.exists(),
        "first": first_steps(account),
        "works": account.has_role_somewhere(ANNOTATOR),
        "adds": account.has_role(RESEARCHER, on=WHOLE_SERVER),
    }
    return render(request, "annotation/home.html", about)


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, *BROWSING)
def corpus_detail(request: HttpRequest, shown: Corpus) -> HttpResponse:
    """One corpus: what its layers hold, and its images by the filter in the address."""
    wanted = filter_in(request.GET)
    behind = update_layers(shown)
    layers = browse.layers_of(shown)
    layer = _layer(layers, layer_in(request.GET))
    page = browse.page_of(
        shown,
        layer,
        wanted,
        after=query_number(request.GET, "after"),
        before=query_number(request.GET, "before"),
    )
    asked = layer_in(request.GET)
    figures = browse.layer_figures(layers)
    return render(
        request,
        "annotation/corpus.html",
        {
            "corpus": shown,
            "wanted": wanted,
            "layer": layer,
            "layers": [(each, figures[each.pk], filter_query(wanted, each.name)) for each in layers],
            "figures": figures[layer.pk] if layer else None,
            "behind": _late(request, shown, behind),
            "manages": account_of(request).has_role(RESEARCHER, on=shown.scope),
            "splits": _with(browse.splits_in_order(shown), wanted.split),
            "categories": _with(CATEGORIES, wanted.category),
            "count": browse.images_matching(shown, layer, wanted).count() if wanted else shown.image_count,
            "tiles": page.tiles,
            "kept": tag_list_of(shown),
            "unfound": unfound_tags(shown, wanted, asked),
            "query": filter_query(wanted, asked),
            "drop": _dropping(wanted, asked),
            "unfinished_query": filter_query(Filter(unfinished=True), layer.name if layer else ""),
            "earlier": filter_query(wanted, asked, before=page.before) if page.before is not None else "",
            "later": filter_query(wanted, asked, after=page.after) if page.after is not None else "",
        },
    )


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, *BROWSING)
def image_detail(request: HttpRequest, corpus: Corpus, key: str) -> HttpResponse:
    """One image: the picture with its boxes, its captions with their mentions, its chains."""
    shown = image_in(corpus, key)
    wanted = filter_in(request.GET)
    update_layers_of_image(shown)
    layers = browse.layers_of(corpus)
    layer = _layer(layers, layer_in(request.GET))
    asked = layer_in(request.GET)
    seen = inspect(
        shown,
        browse.captions_shown(shown),
        browse.layer_rows(shown, layer) if layer else None,
        size=size_of(shown),
        lit=query_number(request.GET, "chain") or 0,
    )
    before, after = browse.neighbours(shown, layer, wanted)
    query = filter_query(wanted, asked)
    return render(
        request,
        "annotation/image.html",
        {
            "corpus": shown.corpus,
            "image": shown,
            "layer": layer,
            "layers": [(each, filter_query(wanted, each.name)) for each in layers],
            "seen": seen,
            "before": before,
            "after": after,
            "before_address": _address(shown.corpus, before, query),
            "after_address": _address(shown.corpus, after, query),
            "query": query,
            "back": filter_query(wanted, asked, after=shown.position - 1 if shown.position else None),
            "filtered": bool(wanted),
            "tags": [(tag, tag_address(corpus, tag.text)) for tag in tags_of_image(shown)],
            "manages": account_of(request).has_role(RESEARCHER, on=corpus.scope),
        },
    )


def _late(
    request: HttpRequest, corpus: Corpus, behind: Mapping[str, int]
) -> list[tuple[str, int, Campaign | None]]:
    """The layers that are behind their answers: name, images behind, and the campaign of each where whoever
    asks may have it brought up."""
    account = account_of(request)
    made_by = {row.name: row for row in Campaign.objects.filter(corpus=corpus, name__in=behind)}
    return [
        (name, count, made_by[name] if account.has_role(RESEARCHER, on=made_by[name].scope) else None)
        for name, count in behind.items()
    ]


def image_in(corpus: Corpus, key: str) -> Image:
    """The image of that key; raises Http404 where the corpus has none."""
    try:
        if "\0" in key:  # PostgreSQL refuses to look for it
            raise Image.DoesNotExist
        return Image.objects.select_related("corpus").get(corpus=corpus, key=key)
    except Image.DoesNotExist:
        said = _("Corpus “%(corpus)s” has no image “%(key)s”.") % {"corpus": corpus.name, "key": key}
        raise Http404(said) from None


def _layer(layers: list[Layer], name: str) -> Layer | None:
    """The layer called `name`; without a name the first, if there is one."""
    if not name:
        return layers[0] if layers else None
    for layer in layers:
        if layer.name == name:
            return layer
    known = ", ".join(layer.name for layer in layers) or _("none")
    raise Http404(_("There is no layer “%(name)s” here; known: %(known)s.") % {"name": name, "known": known})


def _with(known: Iterable[str], asked: str) -> list[str]:
    """The choices of a select, with one that only the address knows."""
    choices = list(known)
    return choices if not asked or asked in choices else [*choices, asked]


def _dropping(wanted: Filter, layer: str) -> list[tuple[str, str]]:
    """What is filtered by, in words, each with the address that no longer does."""
    drops: list[tuple[str, dict[str, Any]]] = []
    if wanted.split:
        drops.append((_("split %(name)s") % {"name": wanted.split}, {"split": ""}))
    if wanted.category:
        drops.append((_("mentions of %(name)s") % {"name": wanted.category}, {"category": ""}))
    if wanted.text:
        drops.append((_("captions with “%(text)s”") % {"text": wanted.text}, {"text": ""}))
    if wanted.tags:
        drops.append((_("tags: %(tags)s") % {"tags": wanted.tags}, {"tags": ""}))
    if wanted.unfinished:
        drops.append((_("only unfinished"), {"unfinished": False}))
    return [(said, filter_query(replace(wanted, **change), layer) or "?") for said, change in drops]


def size_of(shown: Image) -> tuple[int, int] | None:
    """The picture's own size where its row does not tell it."""
    if not shown.picture or (shown.width and shown.height):
        return None
    return picture_size(shown.picture)


def _address(corpus: Corpus, neighbour: Image | None, query: str) -> str:
    return reverse("image", args=[corpus.name, neighbour.key]) + query if neighbour else ""
