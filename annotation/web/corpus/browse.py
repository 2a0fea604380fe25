"""Pages of corpora and their images: home, one corpus, one image."""

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
from annotation.selectors.corpora import corpora_of
from annotation.selectors.tags.stored import tag_list_of, tags_of_image
from annotation.web.common.access import BROWSING, CORPUS_OF_ADDRESS, account_of, for_roles, for_roles_on
from annotation.web.common.filters import filter_in, filter_query, layer_in, query_number
from annotation.web.common.first_steps import first_steps
from annotation.web.common.lists import SortColumn, list_page
from annotation.web.corpus.inspection import inspect
from annotation.web.corpus.tagged import tag_address, unfound_tags

#: Number of corpora on a page of the list, and its sort orders.
CORPORA_PER_PAGE = 20
_SORTS = {
    "name": SortColumn(gettext_lazy("name"), "name"),
    "new": SortColumn(gettext_lazy("newest"), "id", down=True),
    "images": SortColumn(gettext_lazy("images"), "image_count", down=True),
}


@require_safe
@for_roles(*BROWSING, ANNOTATOR)
def home(request: HttpRequest) -> HttpResponse:
    """List the published corpora that are open to the account, each with a strip of its pictures.

    Annotators without other roles are redirected to their tasks.
    """
    account = account_of(request)
    if not account.has_role_somewhere(*BROWSING):
        return redirect("tasks")
    if not account.has_role_somewhere(*BROWSING, corpora=True):
        return redirect("campaigns")  # its roles are only for campaigns
    corpora = corpora_of(account, *BROWSING).filter(published=True)
    page = list_page(corpora, request.GET, sorts=_SORTS, number=CORPORA_PER_PAGE)
    about = {
        "corpora": browse.corpus_rows(page.rows),
        "page": page,
        "any": bool(page.rows) or corpora.exists(),
        "first": first_steps(account),
        "works": account.has_role_somewhere(ANNOTATOR),
        "adds": account.has_role(RESEARCHER, on=WHOLE_SERVER),
    }
    return render(request, "annotation/home.html", about)


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, *BROWSING)
def corpus_detail(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Show one corpus: the content of its layers, and its images by the filter in the address."""
    selection = filter_in(request.GET)
    behind = update_layers(corpus)
    layers = browse.layers_of(corpus)
    layer = _layer(layers, layer_in(request.GET))
    page = browse.page_of(
        corpus,
        layer,
        selection,
        after=query_number(request.GET, "after"),
        before=query_number(request.GET, "before"),
    )
    layer_name = layer_in(request.GET)
    figures = browse.layer_figures(layers)
    return render(
        request,
        "annotation/corpus.html",
        {
            "corpus": corpus,
            "selection": selection,
            "layer": layer,
            "layers": [(row, figures[row.pk], filter_query(selection, row.name)) for row in layers],
            "figures": figures[layer.pk] if layer else None,
            "behind": _late(request, corpus, behind),
            "manages": account_of(request).has_role(RESEARCHER, on=corpus.scope),
            "splits": _with(browse.splits_in_order(corpus), selection.split),
            "categories": _with(
                dict.fromkeys((*CATEGORIES, *(figures[layer.pk].labels if layer else ()))), selection.category
            ),
            "count": browse.images_matching(corpus, layer, selection).count()
            if selection
            else corpus.image_count,
            "tiles": page.tiles,
            "tag_list": tag_list_of(corpus),
            "unfound": unfound_tags(corpus, selection, layer_name),
            "query": filter_query(selection, layer_name),
            "drop": _dropping(selection, layer_name),
            "unfinished_query": filter_query(Filter(unfinished=True), layer.name if layer else ""),
            "earlier": filter_query(selection, layer_name, before=page.before)
            if page.before is not None
            else "",
            "later": filter_query(selection, layer_name, after=page.after) if page.after is not None else "",
        },
    )


@require_safe
@for_roles_on(CORPUS_OF_ADDRESS, *BROWSING)
def image_detail(request: HttpRequest, corpus: Corpus, key: str) -> HttpResponse:
    """Show one image: the picture with its boxes, its captions with their mentions, its chains."""
    image = image_in(corpus, key)
    selection = filter_in(request.GET)
    update_layers_of_image(image)
    layers = browse.layers_of(corpus)
    layer = _layer(layers, layer_in(request.GET))
    layer_name = layer_in(request.GET)
    seen = inspect(
        image,
        browse.captions_by_number(image),
        browse.layer_rows(image, layer) if layer else None,
        size=size_of(image),
        lit=query_number(request.GET, "chain") or 0,
    )
    before, after = browse.neighbours(image, layer, selection)
    query = filter_query(selection, layer_name)
    return render(
        request,
        "annotation/image.html",
        {
            "corpus": image.corpus,
            "image": image,
            "layer": layer,
            "layers": [(row, filter_query(selection, row.name)) for row in layers],
            "seen": seen,
            "before": before,
            "after": after,
            "before_address": _address(image.corpus, before, query),
            "after_address": _address(image.corpus, after, query),
            "query": query,
            "back": filter_query(selection, layer_name, after=image.position - 1 if image.position else None),
            "filtered": bool(selection),
            "tags": [(tag, tag_address(corpus, tag.text)) for tag in tags_of_image(image)],
            "manages": account_of(request).has_role(RESEARCHER, on=corpus.scope),
        },
    )


def _late(
    request: HttpRequest, corpus: Corpus, behind: Mapping[str, int]
) -> list[tuple[str, int, Campaign | None]]:
    """Return the layers that are behind their answers: name, number of images behind, and the campaign of
    each if the caller may have it refreshed."""
    account = account_of(request)
    made_by = {row.name: row for row in Campaign.objects.filter(corpus=corpus, name__in=behind)}
    return [
        (name, count, made_by[name] if account.has_role(RESEARCHER, on=made_by[name].scope) else None)
        for name, count in behind.items()
    ]


def image_in(corpus: Corpus, key: str) -> Image:
    """Return the image of that key. Raises Http404 if the corpus has none."""
    try:
        if "\0" in key:  # PostgreSQL rejects it
            raise Image.DoesNotExist
        return Image.objects.select_related("corpus").get(corpus=corpus, key=key)
    except Image.DoesNotExist:
        message = _("Corpus “%(corpus)s” has no image “%(key)s”.") % {"corpus": corpus.name, "key": key}
        raise Http404(message) from None


def _layer(layers: list[Layer], name: str) -> Layer | None:
    """Return the layer called `name`; without a name the first, if there is one."""
    if not name:
        return layers[0] if layers else None
    for layer in layers:
        if layer.name == name:
            return layer
    known = ", ".join(layer.name for layer in layers) or _("none")
    raise Http404(_("There is no layer “%(name)s” here; known: %(known)s.") % {"name": name, "known": known})


def _with(known: Iterable[str], name: str) -> list[str]:
    """Return the choices of a select, including one that only the address contains."""
    choices = list(known)
    return choices if not name or name in choices else [*choices, name]


def _dropping(selection: Filter, layer: str) -> list[tuple[str, str]]:
    """Return the active filters in words, each with the address without it."""
    drops: list[tuple[str, dict[str, Any]]] = []
    if selection.split:
        drops.append((_("split %(name)s") % {"name": selection.split}, {"split": ""}))
    if selection.category:
        drops.append((_("mentions of %(name)s") % {"name": selection.category}, {"category": ""}))
    if selection.text:
        drops.append((_("captions with “%(text)s”") % {"text": selection.text}, {"text": ""}))
    if selection.tags:
        drops.append((_("tags: %(tags)s") % {"tags": selection.tags}, {"tags": ""}))
    if selection.unfinished:
        drops.append((_("only unfinished"), {"unfinished": False}))
    return [(text, filter_query(replace(selection, **change), layer) or "?") for text, change in drops]


def size_of(image: Image) -> tuple[int, int] | None:
    """Return the picture's own size if its row has none."""
    if not image.picture or (image.width and image.height):
        return None
    return picture_size(image.picture)


def _address(corpus: Corpus, neighbour: Image | None, query: str) -> str:
    return reverse("image", args=[corpus.name, neighbour.key]) + query if neighbour else ""
