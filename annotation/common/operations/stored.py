"""Operations of every kind of stored object: listing, showing, archiving and removing rows."""

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from annotation.common.operations.fields import Help, Named, StoredKind
from annotation.common.operations.operation import FormPage, Has, Listing, OperationContext, Rest, register


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredThing:
    """A kind of stored object, for which `register_stored` creates `list_THINGS`, `show_THING`,
    `archive_THING` and `remove_THING`, as far as their functions are given.

    `word` is the name of the field that refers to one, `words` the plural, `route` the URL name of one (by
    default the word), and `titles` are those of the four operations. `listing` is the request of the list:
    its fields `corpus` and `archived` are handled here, and `narrow(rows, request)` handles the others.
    `summary` converts a row for the list, `detail` for a single object, both to dataclasses: `results` are
    their types. `archive(row, archived, actor)` and `remove(row, actor)` raise `errors` where they cannot.
    """

    kind: StoredKind
    word: str
    words: str
    titles: tuple[str | Promise, str | Promise, str | Promise, str | Promise]
    path: str
    roles: tuple[str, ...]
    listing: type[Any]
    results: tuple[type[Any], type[Any]]
    summary: Callable[[Any], Any]
    detail: Callable[[Any], Any] | None = None
    narrow: Callable[[QuerySet[Any], Any], QuerySet[Any]] = lambda rows, request: rows
    route: str = ""
    order: str = "name"
    related: tuple[str, ...] = ("corpus",)
    archive: Callable[[Any, bool, Any], object] | None = None
    remove: Callable[[Any, Any], object] | None = None
    removed: str | Promise = _("It is removed.")
    errors: tuple[type[Exception], ...] = ()

    @property
    def address(self) -> str:
        """Return the path of one, which ends in its name."""
        return f"{self.path}/<str:{self.word}>"

    def row(self, request: Any, context: OperationContext) -> Any:
        """Return the row that a request names; it exists, since the request was authorised."""
        return self.kind.find(getattr(request, self.word), context.actor, self.roles)


def register_stored(thing: StoredThing) -> None:
    """Create and register the operations of a kind of stored object."""
    tag, on, route = thing.path, Has(thing.roles, on=thing.word, corpora=True), thing.route or thing.word
    name = Annotated[str, Named(thing.kind), Help(capfirst(thing.kind.title))]

    def request(called: str, text: str, *fields: tuple[str, Any]) -> type[Any]:
        result = make_dataclass(
            called.title().replace("_", ""),
            [(thing.word, name), *fields],
            frozen=True,
            slots=True,
            kw_only=True,
        )
        result.__doc__, result.__module__ = text, thing.summary.__module__
        return result

    def list_rows(list_request: Any, context: OperationContext) -> Listing:
        rows = thing.kind.rows(context.actor, *thing.roles).select_related(*thing.related)
        if hasattr(list_request, "archived"):
            rows = rows.filter(archived_at__isnull=not list_request.archived)
        if getattr(list_request, "corpus", None) is not None:
            rows = rows.filter(corpus__name=list_request.corpus)
        return Listing(thing.narrow(rows, list_request), thing.order, thing.summary)

    def show_row(list_request: Any, context: OperationContext) -> Any:
        assert thing.detail is not None
        return thing.detail(thing.row(list_request, context))

    def archive_row(list_request: Any, context: OperationContext) -> Any:
        row = thing.row(list_request, context)
        assert thing.archive is not None
        thing.archive(row, list_request.archived, context.actor)
        return thing.summary(row)

    def remove_row(list_request: Any, context: OperationContext) -> None:
        assert thing.remove is not None
        thing.remove(thing.row(list_request, context), context.actor)

    for run in (list_rows, show_row, archive_row, remove_row):
        run.__module__ = thing.summary.__module__
    register(
        name=f"list_{thing.words}",
        title=thing.titles[0],
        request=thing.listing,
        result=thing.results[0],
        permission=Has(thing.roles, corpora=True),
        run=list_rows,
        rest=Rest("GET", thing.path, tag, route=thing.words),
    )
    if thing.detail is not None:
        register(
            name=f"show_{thing.word}",
            title=thing.titles[1],
            request=request(f"show_{thing.word}_request", "All that is stored of it."),
            result=thing.results[1],
            permission=on,
            run=show_row,
            errors=thing.errors,
            rest=Rest("GET", thing.address, tag, route=route),
        )
    if thing.archive is not None:
        register(
            name=f"archive_{thing.word}",
            title=thing.titles[2],
            request=request(
                f"archive_{thing.word}_request",
                "Lists leave out what is archived, unless they are asked for it. Nothing else changes.",
                ("archived", Annotated[bool, Help(_("Archived"))]),
            ),
            result=thing.results[0],
            permission=on,
            run=archive_row,
            rest=Rest("PATCH", thing.address, tag, route=route, example={"archived": True}),
            page=FormPage(),
        )
    if thing.remove is not None:
        register(
            name=f"remove_{thing.word}",
            title=thing.titles[3],
            request=request(
                f"remove_{thing.word}_request", "It is refused while something else was made from it."
            ),
            result=None,
            permission=on,
            run=remove_row,
            errors=thing.errors,
            rest=Rest("DELETE", thing.address, tag, route=route),
            page=FormPage(done=thing.removed),
        )
