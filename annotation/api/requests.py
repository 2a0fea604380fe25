"""How a request of the API is taken: its method, its JSON, who sent it, and what becomes of errors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from annotation.api.callers import worker_calling
from annotation.api.problems import Problem
from annotation.common import database, plain_json
from annotation.models import Worker
from annotation.queue import submission
from annotation.task_types.base import BadAnswer

#: What a view gets: the request, the worker who sent it, its JSON. It returns what is to be said.
_View = Callable[..., dict[str, Any]]

#: Ids that one request may name as in hand; nobody has that many.
_MOST_HELD = 100


def for_workers(*methods: str) -> Callable[[_View], Callable[..., HttpResponse]]:
    """Make `view` the answer to requests of workers by one of `methods`.

    Whatever it raises is told as a problem. The CSRF token is checked by `callers`: a token needs none.
    """

    def wrap(view: _View) -> Callable[..., HttpResponse]:
        @csrf_exempt
        @login_not_required
        @wraps(view)
        def answered(request: HttpRequest, **path: Any) -> HttpResponse:
            try:
                if request.method not in methods:
                    raise Problem(
                        HTTPStatus.METHOD_NOT_ALLOWED,
                        "bad_method",
                        _("This address accepts only %(methods)s.") % {"methods": ", ".join(methods)},
                        headers={"Allow": ", ".join(methods)},
                    )
                database.spare_the_check()
                worker = worker_calling(request, path.get("assignment"))
                data = json_in(request) if request.method == "POST" else {}
                said = view(request, worker, data, **path)
            except Problem as problem:
                return problem.response()
            except BadAnswer as error:
                return Problem(
                    HTTPStatus.UNPROCESSABLE_ENTITY, "bad_answer", str(error), field=error.field
                ).response()
            except submission.BadJudgment as error:
                return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_answer", str(error)).response()
            except submission.Conflict as error:
                return Problem(HTTPStatus.CONFLICT, "answered", str(error)).response()
            except submission.NotYours as error:
                return (_moved() if _is_gone(worker) else not_yours(str(error))).response()
            except (IntegrityError, Worker.DoesNotExist):
                if not _is_gone(worker):
                    raise
                return _moved().response()
            return HttpResponse(
                json.dumps(said), content_type="application/json", headers={"Cache-Control": "no-store"}
            )

        return answered

    return wrap


def _is_gone(worker: int) -> bool:
    """Whether a worker has just become another one (`joining`), for whom the same call is good."""
    return not Worker.objects.filter(pk=worker).exists()


def _moved() -> Problem:
    detail = _("Your platform has just confirmed who you are. Send this again.")
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "moved", detail, headers={"Retry-After": "1"})


def not_yours(detail: str) -> Problem:
    """A problem of status 410: what is asked for is not, or no longer, in the caller's hands."""
    return Problem(HTTPStatus.GONE, "not_yours", detail)


def json_in(request: HttpRequest) -> dict[str, Any]:
    """The JSON object that `request` carries, {} where it carries nothing."""
    if (request.content_type or "").startswith("multipart/"):
        # It was read as a form: there is no body any more.
        raise _bad_request(_("Expected a JSON object: {...}."))
    try:
        if not request.body:
            return {}
        data = plain_json.read_plain_json(request.body)
    except plain_json.BadJson as error:
        raise _bad_request(str(error)) from None
    except RequestDataTooBig:
        raise _bad_request(_("This request is too large.")) from None
    if not isinstance(data, dict):
        raise _bad_request(_("Expected a JSON object: {...}."))
    return data


def word_in(data: Mapping[str, Any], field: str) -> str:
    """A field that must be text, and not empty."""
    value = data.get(field)
    if not isinstance(value, str) or not value or "\0" in value:
        raise _bad_request(_("“%(field)s” must be text.") % {"field": field}, field)
    return value


def holding_in(data: Mapping[str, Any]) -> list[int]:
    """The ids of `holding`, [] where it is absent."""
    value = data.get("holding")
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST_HELD or not all(type(i) is int for i in value):
        raise _bad_request(
            _("“holding” must be a list of ids, %(most)d at most.") % {"most": _MOST_HELD}, "holding"
        )
    return value


def seconds_in(data: Mapping[str, Any]) -> float | None:
    """The time worked, None where it is unknown."""
    value = data.get("seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise _bad_request(_("“seconds” must be a number, 0 or more, or null."), "seconds")
    return float(value)


def field_number(data: Mapping[str, Any], field: str) -> int:
    """A field that must be a whole number."""
    value = data.get(field)
    if type(value) is not int:
        raise _bad_request(_("“%(field)s” must be a whole number.") % {"field": field}, field)
    return value


def switch_in(data: Mapping[str, Any], field: str, usual: bool) -> bool:
    """True or false as a field says, `usual` where it is absent; raises Problem for anything else."""
    value = data.get(field, usual)
    if not isinstance(value, bool):
        raise _bad_request(_("“%(field)s” must be true or false.") % {"field": field}, field)
    return value


def _bad_request(detail: str, field: str = "") -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", detail, field=field)
