"""Middleware, in the order of `MIDDLEWARE`: the log, form parsing, the short path of workers' calls, and the
sign-in."""

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, cast

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import BadRequest, DisallowedHost, RequestDataTooBig, SuspiciousOperation
from django.core.handlers.exception import convert_exception_to_response
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.cache import add_never_cache_headers
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.views.defaults import bad_request

from annotation.api.problems import Problem
from annotation.models import Account, Worker
from annotation.web.common.access import only_work, set_up_first
from annotation.workers import sessions
from config.bodies import LARGEST_BODY, declared_length, most_bytes
from config.errors import is_call, unreadable_call
from config.logs import request_id
from config.request_limits import CALLER
from config.single_thread_worker import CALLS

access = logging.getLogger("phrasebox.access")
UNREADABLE = (BadRequest, SuspiciousOperation, MultiPartParserError, OSError, ValueError, LookupError)
Answering = Callable[[HttpRequest], HttpResponse]
#: They set the same headers on every response, except for those that depend on TLS.
GUARDS = (SecurityMiddleware, CSPMiddleware, XFrameOptionsMiddleware)


class RequestLog:
    """Gives every request an id (header X-Request-ID, created here unless a proxy set it) and logs its
    result."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        received = request.headers.get("X-Request-ID", "")
        # Anything else could forge lines of the log.
        name = (
            received
            if received.isascii() and received.replace("-", "").isalnum() and len(received) <= 64
            else ""
        )
        token = request_id.set(name or uuid.uuid4().hex)
        started = time.monotonic()
        try:
            response = self.get_response(request)
            if CALLER in request.META:
                request.META[CALLER]["account"] = _account_of(request)
            response["X-Request-ID"] = request_id.get()
            access.info(
                "%s %s %d",
                request.method,
                request.path,
                response.status_code,
                extra={"fields": {"milliseconds": round(1000 * (time.monotonic() - started))}},
            )
            return response
        finally:
            request_id.reset(token)


def _account_of(request: HttpRequest) -> int | None:
    """Return the account of a request, if it was determined; without a query."""
    known = vars(request)
    user = known.get("_cached_user") or known.get("user")
    # `user` may be a lazy object.
    return known.get("account_id") or (user.pk if type(user) is Account else None)


class ReadableForms:
    """Parses every form first, and removes null characters from it and from the query string: no database
    stores them. API calls have no form, and validate themselves.

    Unparsable requests are rejected with 400, too large ones with 413, before anything reads them. Django
    parses a form on first access, also in its error pages: with an unparsable form, they fail like the view
    did. And it decodes an address by the charset of the body's type.

    It writes the files of a form to disk whatever their size, and views check the size afterwards. So nothing
    is read of a body whose declared length exceeds the maximum of all pages and calls; without an account
    that is a short form. A body without a declared length counts as empty: none of our servers passes on more
    than was declared.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        read: Any = request
        most = most_bytes(request)
        try:
            if declared_length(request) > most:
                raise TooLarge(most)
            if _holds_nulls(request.POST):
                read._post = _without_nulls(request.POST)
        except UNREADABLE as error:
            read._post, read._files = QueryDict(), MultiValueDict()
            read.unreadable = error
        if "%00" in request.META.get("QUERY_STRING", "") and _holds_nulls(request.GET):
            read.GET = _without_nulls(request.GET)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_about: object) -> HttpResponseBase | None:
        """Before all checks of other middleware, so that the error page has their headers."""
        error = getattr(request, "unreadable", None)
        if error is None:
            return None
        if isinstance(error, TooLarge):
            return _too_large(request, error.most)
        return unreadable_call() if is_call(request) else bad_request(request, error)


class TooLarge(RequestDataTooBig):
    """A body whose declared length exceeds `most` bytes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most} bytes")
        self.most = most


def _too_large(request: HttpRequest, most: int) -> HttpResponse:
    """Return problem details for programs, a page for people."""
    if most < LARGEST_BODY:
        why = _("Without signing in, a request may have %(most)s at most. Sign in, then send it again.")
    else:
        why = _(
            "A request may have %(most)s at most. Larger files are imported by command, and a new corpus is "
            "uploaded in parts."
        )
    why %= {"most": filesizeformat(most)}
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if is_call(request):
        response = Problem(status, "too_large", why).response()
    else:
        response = HttpResponse(render_to_string("413.html", {"why": why}), status=status)
    response["Cache-Control"] = "no-store"
    return response


def _holds_nulls(query: QueryDict) -> bool:
    return any("\0" in name or any("\0" in value for value in values) for name, values in query.lists())


def _without_nulls(query: QueryDict) -> QueryDict:
    cleaned = QueryDict(mutable=True)
    for name, values in query.lists():
        for value in values:
            cleaned.appendlist(name.replace("\0", ""), value.replace("\0", ""))
    cleaned._mutable = False
    return cleaned


class WorkerCalls:
    """Responds to workers' calls without the middleware that only pages need; passes everything else on.

    Eleven layers, most of them without effect on a call, took a quarter of a cycle's Python time. The headers
    that they set on every response (policies, equal for all calls) are determined once; sessions, hosts and
    cookies are handled in the same way. Any unusual request goes through all of them.
    """

    def __init__(self, get_response: Answering) -> None:
        self.get_response = get_response
        self._sessions, self._csrf = SessionMiddleware(get_response), CsrfViewMiddleware(get_response)
        self._common, self._locale = CommonMiddleware(get_response), LocaleMiddleware(get_response)
        self._guards = [guard(get_response) for guard in GUARDS]
        #: The headers of the guards, by whether the request used TLS.
        self._guard_headers: dict[bool, Mapping[str, str]] = {}
        self._answered = cast(Answering, convert_exception_to_response(_answered))

    def __call__(self, request: HttpRequest) -> HttpResponse:
        match = _worker_call_match(request)
        if match is None:
            return self.get_response(request)
        request.resolver_match = match
        self._sessions.process_request(request)
        self._locale.process_request(request)
        self._csrf.process_request(request)
        response = self._answered(request)
        for layer in (self._csrf, self._common, self._locale, self._sessions):
            layer.process_response(request, response)
        for name, value in self._headers(request).items():
            response.headers.setdefault(name, value)
        return response

    def _headers(self, request: HttpRequest) -> Mapping[str, str]:
        secure = request.is_secure()
        if secure not in self._guard_headers:
            bare = HttpResponse()
            del bare["Content-Type"]
            for guard in self._guards:
                guard.process_response(request, bare)
            self._guard_headers[secure] = dict(bare.items())
        return self._guard_headers[secure]


def _worker_call_match(request: HttpRequest) -> ResolverMatch | None:
    """Return the view of a call that may skip the middleware; None for any other request."""
    if not request.path_info.startswith(CALLS) or (settings.SECURE_SSL_REDIRECT and not request.is_secure()):
        return None
    if hasattr(request, "unreadable"):  # set by `ReadableForms`
        return None
    try:
        request.get_host()
        match = resolve(request.path_info)
    except (DisallowedHost, Resolver404):
        return None
    # It checks the caller and the permission itself; for any other view the middleware does.
    alone = getattr(match.func, "csrf_exempt", False) and not getattr(match.func, "login_required", True)
    return match if alone else None


def _answered(request: HttpRequest) -> HttpResponse:
    match = request.resolver_match
    assert match is not None
    response: HttpResponse = match.func(request, *match.args, **match.kwargs)
    return response


class SignInRequired(LoginRequiredMiddleware):
    """Like Django's, but checks the view first.

    Django 5.2 loads the user even if the view needs none: two queries for each picture of a page, and for
    each health check.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., Any],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Redirect to the sign-in if required; reject sessions from a platform that may only work."""
        if not getattr(view_func, "login_required", True):
            return None
        asking: Any = request
        asking.asks_for_sign_in = True
        shut = super().process_view(request, view_func, view_args, view_kwargs)
        if shut is None:
            shut = only_work(request, view_func)
        return shut if shut is not None else set_up_first(request, view_func)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        """Reload a page that is requested while its worker is merged into another (`joining`)."""
        moved = isinstance(exception, IntegrityError | Worker.DoesNotExist)
        if not moved or request.method != "GET" or not sessions.by_address(request.session):
            return None
        account = Account.objects.filter(pk=request.user.pk or 0)
        return None if account.exists() else HttpResponseRedirect(request.get_full_path())

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Forbid caching of what only signed-in users may see, so that "back" shows nothing to the next user
        of a machine."""
        if getattr(request, "asks_for_sign_in", False) and not response.has_header("Cache-Control"):
            add_never_cache_headers(response)
        return response
