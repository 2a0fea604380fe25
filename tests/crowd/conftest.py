"""What tests of those who come by a crowd platform start from."""

from __future__ import annotations

from typing import Any

import pytest

from annotation import instructions
from tests.crowd import platform
from tests.factories import some_images
from tests.queue.world import World


@pytest.fixture
def work(settings: Any) -> World:
    settings.PROLIFIC_WEBHOOK_SECRET = platform.SECRET
    world = World(some_images(4))
    instructions.publish(campaign=world.campaign, kind=instructions.CONSENT, text="")
    platform.prolific_study(world)
    return world
