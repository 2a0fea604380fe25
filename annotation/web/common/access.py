"""Permissions of pages: decorators that require a role for the subject of the page, and explain a refusal."""

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

#: Roles that may view corpora and pictures; admins have every role.
BROWSING = (REVIEWER, RESEARCHER)
#: Roles that may run campaigns and evaluations.
RUNNING = (RESEARCHER,)
#: The page of the header's logo; workers are redirected from it.
HOME = "home"


class Scoped(Protocol):
    """An object that roles can be granted for, or that belongs to one."""

    @property
    def scope(self) -> Scope:
        """Its scope: a corpus, a campaign, or the whole server."""


P = ParamSpec("P")
_T = TypeVar("_T", bound=Scoped)


@dataclass(frozen=True)
class AddressedThing(Generic[_T]):
    """Looks up the object of an address by its name, with the message for a missing one."""

    find: Callable[[str], _T | None]
    missing: Any  # a text with %(name)s, translated when it is shown

    def __call__(self, name: str) -> _T:
        """Return the object of that name, or raise the error for a missing one."""
        row = self.find(name)
        if row is None:
            raise self.none(name)
        return row

    def none(self, name: str) -> Http404:
        """Return the error for a missing object of this name, to be raised."""
        return Http404(str(self.missing) % {"name": name})


#: The corpus of an address.
CORPUS_OF_ADDRESS = AddressedThing(
    lambda name: Corpus.objects.filter(name=name, published=True).first(),
    gettext_lazy("There is no corpus “%(name)s” here."),
)


def for_roles(*roles: str, corpora: bool = False) -> Callable[[_View], _View]:
    """Permit a view to accounts that have one of `roles` for anything or, with `corpora`, for at least a
    corpus: for lists and forms, which must show and accept only what these roles cover.

    Other signed-in accounts get a page that names the roles and the next step (status 403); anonymous
    visitors are redirected to sign in.
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
    """Permit a view to accounts that have one of `roles` for the object that its address names.

    The view gets the object instead of its `name`. An account with none of `roles` for anything gets a page
    that names them (status 403), whatever the address names. For others, an object outside the scope of their
    staff roles does not exist: they get the page of a missing name.
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
    """Permit a view to accounts that have one of `roles` for the whole server."""

    def guard(view: _View) -> _View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if account_of(request).has_role(*roles, on=WHOLE_SERVER):
                return view(request, *args, **kwargs)
            return role_missing(request, *roles)

        return login_required(guarded)

    return guard


def for_admins(view: _View) -> _View:
    """Permit a view to admins of the whole server."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if account_of(request).has_role(ADMIN, on=WHOLE_SERVER):
            return view(request, *args, **kwargs)
        return role_missing(request, ADMIN)

    return login_required(guarded)


def _for_work(view: _View, roles: tuple[str, ...]) -> _View:
    """Mark a view that is only for annotators: sessions that may only work may open it."""
    marked: Any = view
    marked.for_work = roles == (ANNOTATOR,)
    return view


def only_work(request: HttpRequest, view: _View) -> HttpResponse | None:
    """Return the response for a session from the address of a crowd platform that requests anything but work:
    a page with the reason, whatever roles the account has. None if `view` is open to it.

    Such an address is weak evidence, and may be copied. The middleware calls this for every view that
    requires a sign-in, so that a page is closed to these sessions unless it is marked as one for work.
    """
    if not sessions.by_address(request.session) or getattr(view, "for_work", False):
        return None
    if request.resolver_match is not None and request.resolver_match.url_name == HOME:
        return redirect("tasks")
    return render(request, "annotation/only_work.html", {}, status=403)


def for_setting_up(view: _View) -> _View:
    """Mark a view that is open to an account that must set up a second factor before anything else."""
    marked: Any = view
    marked.for_setting_up = True
    return view


def set_up_first(request: HttpRequest, view: _View) -> HttpResponse | None:
    """Redirect an account that must set up a second factor to that page; None for all others, and on that
    page.

    Called for every view that requires a sign-in: a page is closed to these sessions unless it is marked.
    """
    if not sessions.sets_up_first(request.session) or getattr(view, "for_setting_up", False):
        return None
    return redirect("set_up_second_factor")


def account_of(request: HttpRequest) -> Account:
    """Return the signed-in account. Raises for an anonymous request."""
    assert isinstance(request.user, Account)
    return request.user


def role_missing(request: HttpRequest, *roles: str) -> HttpResponse:
    """Return a page that names the required roles, and whom to ask."""
    return render(request, "annotation/role_missing.html", {"roles": roles}, status=403)
