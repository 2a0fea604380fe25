"""`manage.py make_examples`: the scenes of examples and practice, made from the sample corpus."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from annotation.protocol.terms import mention_id
from annotation.task_types.practice.scenes import SCENE_IMAGES, SCENE_PICTURES, SCENES_FILE, SCENES_SEED
from scenes.generate import generate_scene

#: WebP quality, from 0 to 100: flat drawings need little.
QUALITY = 60


class Command(ReportCommand):
    help = (
        "Make the scenes that examples and practice show, from the sample corpus: their captions and gold, "
        "and their pictures among the static files. They are committed; run it after a change of the sample "
        "corpus, or of which scenes are chosen (annotation/task_types/practice/scenes.py)."
    )
    expected_errors = (OSError,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--pictures", type=Path, help="Folder of the pictures (default: the static files)"
        )
        parser.add_argument("--told", type=Path, default=SCENES_FILE, help="File of captions and gold")

    def report(self, **options: Any) -> dict[str, Any]:
        folder = options["pictures"] or settings.BASE_DIR / "static" / SCENE_PICTURES
        folder.mkdir(parents=True, exist_ok=True)
        descriptions, size = {}, 0
        for name, index in SCENE_IMAGES.items():
            scene = generate_scene(index, seed=SCENES_SEED)
            descriptions[name] = described(scene.image)
            path = folder / f"{name}.webp"
            scene.picture.save(path, "WEBP", quality=QUALITY, method=6)
            size += path.stat().st_size
        options["told"].write_text(json.dumps(descriptions, indent=1) + "\n", encoding="utf-8")
        return {"scenes": len(descriptions), "pictures": str(folder), "bytes": size}

    def show(self, report: dict[str, Any]) -> str:
        return (
            f"{report['scenes']} scenes, {report['bytes'] / 1000:.0f} kB of pictures in {report['pictures']}"
        )


def described(image: dict[str, Any]) -> dict[str, Any]:
    """Return a scene's size, captions, and for each chain its mentions and its boxes."""
    boxes: dict[str, list[list[int]]] = {}
    for item in image["layer"]["objects"]:
        for chain in item["chains"] if "box" in item else ():
            boxes.setdefault(chain, []).append(item["box"])
    return {
        "width": image["width"],
        "height": image["height"],
        "captions": [caption["text"] for caption in image["captions"]],
        "chains": [
            {
                "mentions": [mention_id(m["caption"], m["start"], m["end"]) for m in chain["mentions"]],
                "boxes": boxes.get(chain["id"], []),
            }
            for chain in image["layer"]["chains"]
        ],
    }
