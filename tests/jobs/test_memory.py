"""All work, by job or by command, ends in one line if memory runs out."""

from __future__ import annotations

import errno
from functools import partial
from typing import cast

import pytest
from django.core.management import CommandError, get_commands

from annotation.jobs.progress import JobProgress
from annotation.jobs.registry import JobKind, every_job_kind
from annotation.jobs.running import _worked
from annotation.management.base import ReportCommand
from annotation.models import Job
from models_core.memory import NotEnoughMemory
from tests.house.product import command_named

FAILED_ALLOCATIONS = [
    MemoryError(),
    MemoryError("Unable to allocate 2.79 GiB for an array with shape (1, 2) and data type float64"),
    RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: 12 bytes\nx"),
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB.\nGPU 0 has"),
    RuntimeError("can't start new thread"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    NotEnoughMemory("it needs about 3 GiB of memory, and 1 GiB are left"),
]


@pytest.mark.parametrize("error", FAILED_ALLOCATIONS, ids=str)
def test_every_kind_of_job_ends_in_one_line_with_the_remedy(monkeypatch, error):
    def perform(*_):
        raise error

    kinds = [*every_job_kind().keys()]  # loads them, so before the change
    monkeypatch.setattr(JobKind, "work", property(lambda kind: perform))
    assert {"rank", "train_system", "tag", "localize", "generate_captions"} <= {*kinds}
    for key in kinds:
        job = Job(pk=1, kind=key, arguments={}, attempts=1)
        ended = cast("partial[str]", _worked(job, JobProgress(job), ())).keywords["error"]
        assert "\n" not in ended and " memory" in ended and " are left" in ended, key


@pytest.mark.parametrize("error", FAILED_ALLOCATIONS, ids=str)
def test_every_command_ends_in_one_line_with_the_remedy(monkeypatch, error):
    def report(*_, **__):
        raise error

    apps = ("annotation", "evaluation")
    commands = [command_named(name) for name, app in get_commands().items() if app in apps]
    reporting = [command for command in commands if isinstance(command, ReportCommand)]
    assert len(reporting) > 50
    for command in reporting:
        monkeypatch.setattr(type(command), "report", report)
        with pytest.raises(CommandError) as refusal:
            ReportCommand.handle(command, json=True)
        ended = str(refusal.value)
        assert "\n" not in ended and " memory" in ended and " are left" in ended, command
