"""Worlds that are built once and inserted again: the same rows, for tests that cannot distinguish them."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps

from annotation.common import database
from annotation.models import Campaign, Judgment
from tests import worlds
from tests.factories import some_images
from tests.queue.world import World

pytestmark = pytest.mark.django_db


def everything() -> dict[str, list[Any]]:
    """Return every row of `annotation`, by model."""
    models = apps.get_app_config("annotation").get_models()
    return {model.__name__: list(model._default_manager.order_by("pk").values()) for model in models}


built: list[int] = []
seen: list[dict[str, list[Any]]] = []


def world() -> World:
    def build() -> World:
        built.append(1)
        result = World(some_images(2), name="kept")
        result.work()
        return result

    return worlds.again("for the test of worlds", build)


@pytest.mark.parametrize("time", ["built", "put back", "put back and committed"])
def test_every_test_finds_the_rows_that_were_built(request: pytest.FixtureRequest, time: str) -> None:
    if time == "put back and committed":
        request.getfixturevalue("transactional_db")
    created = world()
    seen.append(everything())
    assert seen[0] == seen[-1] and len(built) == 1
    assert created.campaign == Campaign.objects.get() and created.campaign.name == "kept"
    # A test's changes to its world are invisible to later tests.
    created.campaign.name = "spoilt"
    created.campaign.save()
    created.workers.clear()
    Judgment.objects.update(withdrawn=True)


def test_rows_of_a_test_come_between_no_world_and_its_ids() -> None:
    before = World(some_images(1), name="before")
    stored = world()
    after = World(some_images(1), name="after")
    assert len({before.campaign.pk, stored.campaign.pk, after.campaign.pk}) == 3
    assert Campaign.objects.count() == 3 and after.work() > 0


def test_a_test_that_turns_the_clock_has_rows_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    at = database.now()
    monkeypatch.setattr(database, "now", lambda: at)
    times = len(built)
    world()
    assert len(built) == times + 1
    built.pop()  # the next test counts what was stored
