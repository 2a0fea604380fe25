"""Handling of workers' calls: method, JSON, caller, and errors."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from annotation.api.callers import worker_calling
from annotation.api.problems import Problem, invalid_problem
from annotation.api.worker_shapes import EmptyRequest
from annotation.common import database
from annotation.common.operations import BadJson, Invalid, read_json, read_request
from annotation.models import Worker
from annotation.queue import submission
from annotation.task_types.base import BadAnswer

#: Arguments of a view: the request, the worker who sent it, its parsed body, and path arguments. It returns
#: the body of the response.
_View = TypeVar("_View", bound=Callable[..., Mapping[str, Any]])


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCall:
    """A call of workers: its function, and its description in the OpenAPI document.

    `asks` is the request class, or returns it; `errors` are statuses of problems besides those of every call.
    """

    name: str
    title: str
    method: str
    view: Callable[..., Mapping[str, Any]]
    asks: Callable[[], type[Any]]
    errors: tuple[int, ...]
    example: Mapping[str, Any] | None


#: By function.
_CALLS: dict[Callable[..., Any], WorkerCall] = {}


def worker_call(
    name: str,
    title: str,
    *,
    method: str = "POST",
    asks: Callable[[], type[Any]] = lambda: EmptyRequest,
    errors: tuple[int, ...] = (),
    example: Mapping[str, Any] | None = None,
) -> Callable[[_View], _View]:
    """Declare the decorated function to be a call of workers; `for_workers` makes its view."""

    def register(view: _View) -> _View:
        _CALLS[view] = WorkerCall(
            name=name, title=title, method=method, view=view, asks=asks, errors=errors, example=example
        )
        return view

    return register


def for_workers(*views: Callable[..., Mapping[str, Any]]) -> Callable[..., HttpResponse]:
    """Return the view of workers' calls at one address, each by its own method.

    Their exceptions become problems. The CSRF token is checked by `callers`: a token needs none.
    """
    calls = {call.method: call for call in (_CALLS[view] for view in views)}

    @csrf_exempt
    @login_not_required
    def answered(request: HttpRequest, **path: Any) -> HttpResponse:
        try:
            if (call := calls.get(request.method or "")) is None:
                allowed = ", ".join(calls)
                detail = _("This address accepts only %(methods)s.") % {"methods": allowed}
                raise Problem(HTTPStatus.METHOD_NOT_ALLOWED, "bad_method", detail, headers={"Allow": allowed})
            database.spare_the_check()
            worker = worker_calling(request, path.get("assignment"))
            data = {**request.GET.dict(), **(json_in(request) if call.method == "POST" else {})}
            answer = call.view(request, worker, read_request(call.asks(), data), **path)
        except Problem as problem:
            return problem.response()
        except Invalid as error:
            return invalid_problem(error).response()
        except (BadAnswer, submission.BadJudgment) as error:
            return Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY, "bad_answer", str(error), field=error.field
            ).response()
        except submission.Conflict as error:
            return Problem(HTTPStatus.CONFLICT, "answered", str(error)).response()
        except submission.NotYours as error:
            return (_moved() if _is_gone(worker) else not_yours(str(error))).response()
        except (IntegrityError, Worker.DoesNotExist):
            if not _is_gone(worker):
                raise
            return _moved().response()
        return HttpResponse(
            json.dumps(answer), content_type="application/json", headers={"Cache-Control": "no-store"}
        )

    answered.calls = calls  # type: ignore[attr-defined]
    return answered


def _is_gone(worker: int) -> bool:
    """Whether a worker has just been merged into another (`joining`), for whom the same call is valid."""
    return not Worker.objects.filter(pk=worker).exists()


def _moved() -> Problem:
    detail = _("Your platform has just confirmed who you are. Send this again.")
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "moved", detail, headers={"Retry-After": "1"})


def not_yours(detail: str) -> Problem:
    """Return a problem of status 410: the caller does not, or no longer, hold the lease."""
    return Problem(HTTPStatus.GONE, "not_yours", detail)


def json_in(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object in the body of `request`, {} if it is empty."""
    if (request.content_type or "").startswith("multipart/"):
        # It was read as a form: the body is consumed.
        raise _bad_request(_("Expected a JSON object: {...}."))
    try:
        if not request.body:
            return {}
        data = read_json(request.body)
    except BadJson as error:
        raise _bad_request(str(error)) from None
    except RequestDataTooBig:
        raise _bad_request(_("This request is too large.")) from None
    if not isinstance(data, dict):
        raise _bad_request(_("Expected a JSON object: {...}."))
    return data


def _bad_request(detail: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", detail)
