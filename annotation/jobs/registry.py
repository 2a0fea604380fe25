"""The registry of kinds of jobs: by name, the function that does the work.

The function is called as `work(progress, **arguments)`, or as `work(progress, request)` if its arguments are
the fields of a record. It may return plain data (the job's result), and must be able to start again: after
its process died it is called again, with its last checkpoint in `progress.checkpoint`. Work done after that
checkpoint may have been done already.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.utils.functional import Promise
from django.utils.module_loading import autodiscover_modules

from annotation.common.operations import (
    EXPECTED_ERRORS,
    Invalid,
    Operation,
    OperationContext,
    all_operations,
    read_request,
    result_to_dict,
)
from phrasebox.registry import Registry

Work = Callable[..., Mapping[str, Any] | None]
F = TypeVar("F", bound=Work)


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job. `expected_errors` are exceptions of its work that mean faulty arguments instead of a
    bug.

    The end of a `quiet` job is not announced: it only sends what somebody else requested. An `operation`
    reads its arguments itself.
    """

    key: str
    title: str | Promise
    work: Work
    expected_errors: tuple[type[Exception], ...] = ()
    quiet: bool = False
    operation: Operation | None = None

    @property
    def app(self) -> str:
        """The name of the app of the work, such as `evaluation`."""
        return self.work.__module__.partition(".")[0]

    def invalid_arguments(self, arguments: Mapping[str, Any]) -> str:
        """Return why the work cannot be called with `arguments`, or ""."""
        try:
            if self.operation is not None:
                read_request(self.operation.request, arguments)
            else:
                inspect.signature(self.work).bind(None, **arguments)
        except (Invalid, TypeError) as error:
            return str(error)
        return ""


JOB_KINDS: Registry[JobKind] = Registry("job kind")


def job_kind(
    key: str,
    *,
    title: str | Promise,
    expected_errors: tuple[type[Exception], ...] = (),
    quiet: bool = False,
) -> Callable[[F], F]:
    """Register the decorated function as the work of jobs of kind `key`.

    `expected_errors` are added to `EXPECTED_ERRORS`.
    """

    def register(work: F) -> F:
        JOB_KINDS.register(key, JobKind(key, title, work, (*EXPECTED_ERRORS, *expected_errors), quiet))
        return work

    return register


def every_job_kind() -> Registry[JobKind]:
    """Return all kinds of jobs of every app, including those declared as operations."""
    _discover()
    for operation in all_operations():
        if operation.as_job and operation.name not in JOB_KINDS:
            JOB_KINDS.register(operation.name, _kind_of_operation(operation))
    return JOB_KINDS


def _kind_of_operation(operation: Operation) -> JobKind:
    """Return the kind of job that runs an operation; its arguments are the request's fields."""

    def work(progress: Any, **arguments: Any) -> Mapping[str, Any]:
        request = read_request(operation.request, arguments)
        return result_to_dict(operation.run(request, OperationContext(progress.actor, progress)))

    work.__module__ = operation.run.__module__
    return JobKind(operation.name, operation.title, work, operation.errors, operation=operation)


def kinds_of_other_apps() -> tuple[str, ...]:
    """Return the names of the kinds of other apps, such as evaluation: these are researchers' work, never the
    server's own."""
    return tuple(kind.key for kind in every_job_kind() if kind.app != "annotation")


def job_kind_named(key: str) -> JobKind:
    """Return the kind `key`; raises UnknownName listing what exists."""
    return every_job_kind().get(key)


@functools.cache
def _discover() -> None:
    # On first use, not at startup: kinds import whatever services they need.
    autodiscover_modules("jobs.kinds")
