"""Fixtures of tests of crowd platforms."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from annotation import instructions
from annotation.common import database
from tests.crowd import platform
from tests.factories import some_images
from tests.queue.world import World


@pytest.fixture
def work(settings: Any) -> World:
    settings.PROLIFIC_WEBHOOK_SECRET = platform.SECRET
    settings.PROLIFIC_JWKS = platform.KEY_SET
    world = World(some_images(4))
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    platform.prolific_study(world)
    return world


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch):
    """A function that advances the time."""
    began = database.now()

    def pass_by(seconds: float) -> None:
        monkeypatch.setattr(database, "now", lambda: began + timedelta(seconds=seconds))

    pass_by(0)
    return pass_by
