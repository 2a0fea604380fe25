"""Workers' calls pass by the middleware that only pages need.

Eleven layers, most of them with nothing to do for a call, were a quarter of a cycle's Python. What they say
about every response (policies, which do not differ from call to call) is asked of them once; sessions, hosts
and cookies are seen to as they do it. Whatever is not plain takes the long way through all of them.
"""

from collections.abc import Callable, Mapping
from typing import cast

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.urls import Resolver404, ResolverMatch, resolve

from config.single_thread_worker import CALLS

Answering = Callable[[HttpRequest], HttpResponse]
#: They put the same headers on every response, but for what depends on TLS.
GUARDS = (SecurityMiddleware, CSPMiddleware, XFrameOptionsMiddleware)


class WorkerCalls:
    """Answers calls of workers; hands everything else on. To stand before all other layers but the log."""

    def __init__(self, get_response: Answering) -> None:
        self.get_response = get_response
        self._sessions, self._csrf = SessionMiddleware(get_response), CsrfViewMiddleware(get_response)
        self._common, self._locale = CommonMiddleware(get_response), LocaleMiddleware(get_response)
        self._guards = [guard(get_response) for guard in GUARDS]
        #: The headers that the guards set, by whether the request came by TLS.
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
    """The view of a call that may skip the middleware; None for any other request."""
    if not request.path_info.startswith(CALLS) or (settings.SECURE_SSL_REDIRECT and not request.is_secure()):
        return None
    if hasattr(request, "unreadable"):  # which `plain` tells
        return None
    try:
        request.get_host()
        match = resolve(request.path_info)
    except (DisallowedHost, Resolver404):
        return None
    # It looks itself who calls and whether the call is theirs; for any other view the layers do so.
    alone = getattr(match.func, "csrf_exempt", False) and not getattr(match.func, "login_required", True)
    return match if alone else None


def _answered(request: HttpRequest) -> HttpResponse:
    match = request.resolver_match
    assert match is not None
    response: HttpResponse = match.func(request, *match.args, **match.kwargs)
    return response
