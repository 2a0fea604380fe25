"""A broker that is ours, and whichever delivery a test runs under."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from kombu import pools

from config.celery import app
from tests.jobs import workers


@contextlib.contextmanager
def sending_to(url: str) -> Iterator[None]:
    """Let this process send its jobs to the broker at `url`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(django_settings, "REDIS_URL", url)
        patch.setitem(app.conf, "broker_url", url)
        yield
    # As in a process that was forked: connections to that broker are not gone on with.
    pools.reset()
    app._after_fork()


@pytest.fixture
def broker(redis_url: str) -> Iterator[redis.Redis]:
    """An empty Redis, to which this process sends."""
    with redis.Redis.from_url(redis_url) as client, sending_to(redis_url):
        client.flushall()
        yield client


@dataclass
class Delivery:
    """How jobs get to their workers: its name, and a worker of it to start."""

    name: str
    worker: Callable[[], AbstractContextManager[workers.Worker]]


#: The two ways in which the product runs: each delivery on the database it goes with.
INSTALLATIONS = [
    pytest.param("celery", marks=pytest.mark.only_on("postgresql")),
    pytest.param("embedded", marks=pytest.mark.only_on("sqlite")),
]
#: The one of Celery, with the other in the slow run: for what takes its time and was seen of both before.
CELERY_FIRST = [
    INSTALLATIONS[0],
    pytest.param("embedded", marks=[pytest.mark.only_on("sqlite"), pytest.mark.slow]),
]
#: The embedded one, with Celery's in the slow run: for what its workers do alike and was seen of both before.
EMBEDDED_FIRST = [
    pytest.param("celery", marks=[pytest.mark.only_on("postgresql"), pytest.mark.slow]),
    INSTALLATIONS[1],
]
#: Each on the other's database: nobody runs that, and nothing but the slow run tries it.
CROSSWISE = [
    pytest.param("celery", id="celery-crosswise", marks=[pytest.mark.only_on("sqlite"), pytest.mark.slow]),
    pytest.param(
        "embedded", id="embedded-crosswise", marks=[pytest.mark.only_on("postgresql"), pytest.mark.slow]
    ),
]


@pytest.fixture(params=[*INSTALLATIONS, *CROSSWISE])
def delivery(request: pytest.FixtureRequest, tmp_path: Path) -> Delivery:
    """Both, on whatever database; crosswise in the slow run alone."""
    return delivered(request.param, request, tmp_path)


@pytest.fixture(params=INSTALLATIONS)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Delivery:
    """The two ways in which the product runs."""
    return delivered(request.param, request, tmp_path)


def delivered(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Delivery:
    """The delivery of that name, with workers in `tmp_path`."""
    number = itertools.count()
    if name == "embedded":
        return Delivery("embedded", lambda: workers.started(workers.EMBEDDED, tmp_path))
    request.getfixturevalue("broker")
    url: str = request.getfixturevalue("redis_url")

    def worker() -> AbstractContextManager[workers.Worker]:
        command = [*workers.CELERY, "--hostname", f"counting{next(number)}@here"]
        return workers.started(command, tmp_path, REDIS_URL=url)

    return Delivery("celery", worker)
