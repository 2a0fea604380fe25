"""A small world of five scenes: captions, vectors and pictures of one image share its scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from models_core.phase_cache import PhaseCache
from models_core.systems.caption_reading import ImageExample
from models_core.systems.dataset import PreparedDataset, prepare
from models_core.systems.kernels import Resources

SCENES = (
    ("dog", "puppy", "beach", "sand", "runs", "running", (200, 180, 90)),
    ("man", "guy", "street", "road", "walks", "walking", (110, 110, 115)),
    ("girl", "child", "park", "garden", "plays", "playing", (40, 160, 60)),
    ("bird", "gull", "sea", "ocean", "flies", "flying", (60, 120, 210)),
    ("horse", "pony", "field", "meadow", "jumps", "jumping", (120, 90, 40)),
)
SHADES = ("red", "white", "black", "young", "big", "wet")


def captions(scene: int, dice: np.random.Generator) -> tuple[str, ...]:
    """Five captions that say the same in different words."""
    one, other, here, there, does, doing, _ = SCENES[scene]
    shade, second = dice.choice(SHADES, 2, replace=False)
    return (
        f"A {shade} {one} {does} near the {here} .",
        f"The {other} is {doing} on a {second} {there} .",
        f"A {one} {doing} across the {second} {here} .",
        f"One {shade} {other} {does} by the {there} .",
        f"There is a {second} {one} that {does} at the {here} .",
    )


def examples(number: int = 40, *, pictures: Path | None = None, seed: int = 0) -> list[ImageExample]:
    """Images named image00.png and so on, of the scenes in turn; drawn into `pictures` where it is given."""
    dice = np.random.default_rng(seed)
    found = []
    for place in range(number):
        scene = place % len(SCENES)
        name = f"image{place:02}.png"
        file = None if pictures is None else pictures / name
        if file is not None:
            pixels = dice.normal(SCENES[scene][-1], 25, (24, 32, 3))
            pixels[:, :: scene + 2] += 40
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(file)
        found.append(ImageExample(name, captions(scene, dice), file))
    return found


def vectors(number: int = 40, *, seed: int = 0) -> np.ndarray:
    """Eight numbers for each image, which lie near its scene's."""
    dice = np.random.default_rng(seed + 1)
    scenes = dice.standard_normal((len(SCENES), 8))
    return scenes[np.arange(number) % len(SCENES)] + 0.3 * dice.standard_normal((number, 8))


def material(number: int = 40, *, kept: PhaseCache | None = None) -> PreparedDataset:
    """The world with vectors for pictures, read."""
    return prepare(examples(number), cache=kept or PhaseCache(), vectors=vectors(number))


#: Sentences of another text about the same things.
AIDS = Resources(
    [
        tuple(word for word in SCENES[place % 5][:4] if isinstance(word, str)) + (SCENES[place % 5][5],)
        for place in range(60)
    ],
    "other.txt",
)
