"""`manage.py check` names each missing part of a kind of job."""

from __future__ import annotations

import pytest

from annotation.checks import job_kinds
from annotation.jobs import JobProgress, job_kind
from annotation.jobs.registry import every_job_kind


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove a test's registrations after it."""
    kinds = every_job_kind()
    monkeypatch.setattr(kinds, "_entries", dict(kinds._entries))


def errors() -> list[tuple[str, str]]:
    """Return (id, message) of each error."""
    return [(str(error.id), error.msg) for error in job_kinds(None)]


def test_every_kind_of_both_apps_lacks_nothing() -> None:
    assert {"export_dataset", "build_report"} <= {*every_job_kind().keys()}
    assert errors() == []


def test_a_kind_without_a_title_is_named() -> None:
    @job_kind("bare", title=" ")
    def bare(progress: JobProgress) -> None: ...

    assert errors() == [("annotation.E019", "the job kind 'bare' has no title")]
    (error,) = job_kinds(None)
    assert __file__ in str(error.hint)


@pytest.mark.parametrize("error", ["LookupError", LookupError(), int], ids=repr)
def test_what_is_no_exception_is_no_refusal(error: object) -> None:
    @job_kind("refusing", title="Refusing", expected_errors=(ValueError, error))  # type: ignore[arg-type]
    def refusing(progress: JobProgress) -> None: ...

    ((id, text),) = errors()
    assert id == "annotation.E020" and repr(error) in text and "ValueError" not in text


def test_work_that_cannot_be_called_is_named() -> None:
    @job_kind("idle", title="Idle")
    def idle() -> None: ...

    @job_kind("in_order", title="In order")
    def in_order(progress: JobProgress, first: int, *, second: int) -> None: ...

    assert [(id, text.removeprefix("the job kind ")) for id, text in errors()] == [
        ("annotation.E021", "'idle' takes no progress"),
        ("annotation.E021", "'in_order' takes first by position"),
    ]
