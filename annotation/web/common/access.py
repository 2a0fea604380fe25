"""Who may open a page: a decorator that asks for a role on what the page is about, and says why not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy

from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER, WHOLE_SERVER, Scope
from annotation.models import Account, Corpus
from annotation.workers import sessions

_View = Callable[..., HttpResponseBase]

#: Who may look at corpora and pictures; admins hold every role.
BROWSING = (REVIEWER, RESEARCHER)
#: Who may run campaigns and evaluations.
RUNNING = (RESEARCHER,)
#: The page that the header's mark leads to; who may only work is led on.
HOME = "home"


class Scoped(Protocol):
    """What a role can be granted for, or what belongs to such a thing."""

    @property
    def scope(self) -> Scope:
        """Where it belongs: a corpus, a campaign, or the whole server."""


P = ParamSpec("P")
_T = TypeVar("_T", bound=Scoped)


@dataclass(frozen=True)
class AddressedThing(Generic[_T]):
    """Looks up the object of an address by its name, with the message for a missing one."""

    find: Callable[[str], _T | None]
    missing: Any  # a text with %(name)s, translated when it is shown

    def __call__(self, name: str) -> _T:
        """The thing of that name; else a page that says that there is none."""
        row = self.find(name)
        if row is None:
            raise self.none(name)
        return row

    def none(self, name: str) -> Http404:
        """The error, to be raised, that says that there is no thing of this name."""
        return Http404(str(self.missing) % {"name": name})


#: The corpus of an address.
CORPUS_OF_ADDRESS = AddressedThing(
    lambda name: Corpus.objects.filter(name=name, published=True).first(),
    gettext_lazy("There is no corpus “%(name)s” here."),
)


def for_roles(*roles: str, corpora: bool = False) -> Callable[[_View], _View]:
    """Let a view be opened by accounts that hold one of `roles` for anything, or, with `corpora`, for a
    corpus at least: lists and forms, which must show and take no more than those roles are for.

    Others who are signed in get a page that names the roles and the next step (status 403);
    anonymous visitors go to the sign-in page and come back.
    """

    def guard(view: _View) -> _View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if account_of(request).has_role_somewhere(*roles, corpora=corpora):
                return view(request, *args, **kwargs)
            return role_missing(request, *roles)

        return _for_work(login_required(guarded), roles)

    return guard


def for_roles_on(
    at: AddressedThing[_T], *roles: str
) -> Callable[[Callable[Concatenate[HttpRequest, _T, P], HttpResponseBase]], _View]:
    """Let a view be opened by accounts that hold one of `roles` for the thing that its address names.

    The view gets the thing in the place of its `name`. Who holds none of `roles` for anything gets a page
    that names them (status 403), whatever the address names. For the others, what none of their roles of
    staff is for is not there: its page is the one of a name that nothing bears.
    """

    def guard(view: Callable[Concatenate[HttpRequest, _T, P], HttpResponseBase]) -> _View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, name: str, **kwargs: Any) -> HttpResponseBase:
            account = account_of(request)
            if not account.has_role_somewhere(*roles):
                return role_missing(request, *roles)
            row = at(name)
            if account.has_role(*roles, on=row.scope):
                return view(request, row, *args, **kwargs)
            if account.has_role(*BROWSING, on=row.scope):
                return role_missing(request, *roles)
            raise at.none(name)

        return _for_work(login_required(guarded), roles)

    return guard


def for_roles_of_server(*roles: str) -> Callable[[_View], _View]:
    """Let a view be opened by accounts that hold one of `roles` for the whole server."""

    def guard(view: _View) -> _View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if account_of(request).has_role(*roles, on=WHOLE_SERVER):
                return view(request, *args, **kwargs)
            return role_missing(request, *roles)

        return login_required(guarded)

    return guard


def for_admins(view: _View) -> _View:
    """Let a view be opened by admins of the whole server."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if account_of(request).has_role(ADMIN, on=WHOLE_SERVER):
            return view(request, *args, **kwargs)
        return role_missing(request, ADMIN)

    return login_required(guarded)


def _for_work(view: _View, roles: tuple[str, ...]) -> _View:
    """Mark a view that is for annotators and nobody else: sessions that may only work may open it."""
    marked: Any = view
    marked.for_work = roles == (ANNOTATOR,)
    return view


def only_work(request: HttpRequest, view: _View) -> HttpResponse | None:
    """What a session gets that somebody opened by the address of a crowd platform, where it asks for anything
    but work: a page that says why, whatever roles the account has. None where `view` is open to it.

    Such an address proves little, and may be copied. The middleware asks this for every view that asks for a
    sign-in, so that a page is shut to these sessions unless it is marked as one for work.
    """
    if not sessions.by_address(request.session) or getattr(view, "for_work", False):
        return None
    if request.resolver_match is not None and request.resolver_match.url_name == HOME:
        return redirect("tasks")
    return render(request, "annotation/only_work.html", {}, status=403)


def for_setting_up(view: _View) -> _View:
    """Mark a view that is open to who has to set up a second factor before anything else."""
    marked: Any = view
    marked.for_setting_up = True
    return view


def set_up_first(request: HttpRequest, view: _View) -> HttpResponse | None:
    """Lead the person who has to set up a second factor to where that is done; None for everybody else, and
    there.

    Asked for every view that asks for a sign-in: a page is shut to these sessions unless it is marked.
    """
    if not sessions.sets_up_first(request.session) or getattr(view, "for_setting_up", False):
        return None
    return redirect("set_up_second_factor")


def account_of(request: HttpRequest) -> Account:
    """The account that is signed in; what is called without an account opens for nobody."""
    assert isinstance(request.user, Account)
    return request.user


def role_missing(request: HttpRequest, *roles: str) -> HttpResponse:
    """A page that says which roles this takes, and whom to ask."""
    return render(request, "annotation/role_missing.html", {"roles": roles}, status=403)
