"""A broker of the tests, and both deliveries."""

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
    """Send this process's jobs to the broker at `url`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(django_settings, "REDIS_URL", url)
        patch.setitem(app.conf, "broker_url", url)
        yield
    # As in a forked process: the connections to the earlier broker are not reused.
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
    """How jobs reach their workers: its name, and a function that starts a worker."""

    name: str
    worker: Callable[[], AbstractContextManager[workers.Worker]]


#: The two ways in which the product runs: each delivery with its database.
INSTALLATIONS = [
    pytest.param("celery", marks=pytest.mark.only_on("postgresql")),
    pytest.param("embedded", marks=pytest.mark.only_on("sqlite")),
]
#: For slow tests: Celery, and in the slow run the embedded worker too.
CELERY_FIRST = [
    INSTALLATIONS[0],
    pytest.param("embedded", marks=[pytest.mark.only_on("sqlite"), pytest.mark.slow]),
]
#: The embedded delivery, and in the slow run Celery's too: for what the workers of both do in the same way.
EMBEDDED_FIRST = [
    pytest.param("celery", marks=[pytest.mark.only_on("postgresql"), pytest.mark.slow]),
    INSTALLATIONS[1],
]
#: Each delivery with the other's database: an unused combination, only tested in the slow run.
CROSSWISE = [
    pytest.param("celery", id="celery-crosswise", marks=[pytest.mark.only_on("sqlite"), pytest.mark.slow]),
    pytest.param(
        "embedded", id="embedded-crosswise", marks=[pytest.mark.only_on("postgresql"), pytest.mark.slow]
    ),
]


@pytest.fixture(params=[*INSTALLATIONS, *CROSSWISE])
def delivery(request: pytest.FixtureRequest, tmp_path: Path) -> Delivery:
    """Both deliveries, on any database; crosswise in the slow run only."""
    return delivered(request.param, request, tmp_path)


@pytest.fixture(params=INSTALLATIONS)
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Delivery:
    """The two ways in which the product runs."""
    return delivered(request.param, request, tmp_path)


def delivered(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Delivery:
    """Return the delivery of that name, with workers in `tmp_path`."""
    number = itertools.count()
    if name == "embedded":
        return Delivery("embedded", lambda: workers.started(workers.EMBEDDED, tmp_path))
    request.getfixturevalue("broker")
    url: str = request.getfixturevalue("redis_url")

    def worker() -> AbstractContextManager[workers.Worker]:
        command = [*workers.CELERY, "--hostname", f"counting{next(number)}@here"]
        return workers.started(command, tmp_path, REDIS_URL=url)

    return Delivery("celery", worker)
