"""The scenes of examples and practice, read from `scenes.json`.

The file and the pictures come from the sample corpus by `manage.py make_examples`; a test creates them again
and compares.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotation.protocol.terms import Box
from annotation.task_types.base import TranslatableText
from annotation.task_types.displayed import DisplayedCaption, DisplayedImage

#: Seed of the sample corpus, and the names of its images here.
SCENES_SEED = 20
SCENE_IMAGES = {"skiers": 0, "frisbee": 1, "kite": 7, "stage": 11, "sheep": 12, "wedding": 14, "umbrella": 22}
#: File of the scenes, and folder of their pictures among the static files.
SCENES_FILE = Path(__file__).parent / "scenes.json"
SCENE_PICTURES = "annotation/examples"

Corners = tuple[int, int, int, int]

#: Descriptions of the pictures of examples.
SCENE_DESCRIPTIONS: dict[str, TranslatableText] = {
    "stage": _("A woman plays the violin on a stage, and a bearded man the keyboard."),
    "frisbee": _("A boy in a brown hat throws a pink frisbee; a white dog sits in the field."),
    "kite": _("A girl in a hat flies a yellow kite; an older lady behind her raises her arms."),
    "wedding": _("A groom and a bride with flowers stand beside a cake; an older man stands to the left."),
    "umbrella": _("Two men lie in the sand under a striped umbrella."),
}
#: Boxes used by several kinds: of the scene "stage", and of "kite".
WOMAN_WITH_VIOLIN: Corners = (144, 104, 223, 288)
TREES: tuple[Corners, ...] = ((3, 29, 192, 269), (237, 89, 375, 303))


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene: what a task shows of it, and for each chain its mentions ("caption:start-end") and boxes."""

    image: DisplayedImage
    chains: tuple[tuple[frozenset[str], tuple[Box, ...]], ...]

    def boxes(self, mention: str) -> tuple[Box, ...]:
        """Return the gold boxes of a mention. Raises LookupError for an unknown mention."""
        for mentions, boxes in self.chains:
            if mention in mentions:
                return boxes
        raise LookupError(f"scene {self.image.key!r} has no mention {mention!r}")


def picture_of(name: str) -> str:
    """Return the static file of a scene's picture."""
    return f"{SCENE_PICTURES}/{name}.webp"


@cache
def practice_scene(name: str) -> Scene:
    """Return the scene of this name. Raises KeyError if there is none."""
    scene: dict[str, Any] = _scenes_in_file()[name]
    captions = tuple(DisplayedCaption(text, tuple(text.split())) for text in scene["captions"])
    return Scene(
        DisplayedImage(0, name, scene["width"], scene["height"], picture_of(name), captions),
        tuple(
            (frozenset(chain["mentions"]), tuple(Box(*corners) for corners in chain["boxes"]))
            for chain in scene["chains"]
        ),
    )


@cache
def _scenes_in_file() -> dict[str, Any]:
    scenes: dict[str, Any] = json.loads(SCENES_FILE.read_text(encoding="utf-8"))
    return scenes
