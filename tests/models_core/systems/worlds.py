"""A small world of five scenes: captions, vectors and pictures of one image belong to the same scene."""

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


def captions(scene: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Return five captions with the same meaning in different words."""
    item, another, here, there, does, doing, _ = SCENES[scene]
    shade, second = rng.choice(SHADES, 2, replace=False)
    return (
        f"A {shade} {item} {does} near the {here} .",
        f"The {another} is {doing} on a {second} {there} .",
        f"A {item} {doing} across the {second} {here} .",
        f"One {shade} {another} {does} by the {there} .",
        f"There is a {second} {item} that {does} at the {here} .",
    )


def examples(number: int = 40, *, pictures: Path | None = None, seed: int = 0) -> list[ImageExample]:
    """Return images named image00.png and so on, of the scenes in turn; drawn into `pictures` if given."""
    rng = np.random.default_rng(seed)
    result = []
    for index in range(number):
        scene = index % len(SCENES)
        name = f"image{index:02}.png"
        file = None if pictures is None else pictures / name
        if file is not None:
            pixels = rng.normal(SCENES[scene][-1], 25, (24, 32, 3))
            pixels[:, :: scene + 2] += 40
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(file)
        result.append(ImageExample(name, captions(scene, rng), file))
    return result


def vectors(number: int = 40, *, seed: int = 0) -> np.ndarray:
    """Return eight numbers for each image, near its scene's."""
    rng = np.random.default_rng(seed + 1)
    scenes = rng.standard_normal((len(SCENES), 8))
    return scenes[np.arange(number) % len(SCENES)] + 0.3 * rng.standard_normal((number, 8))


def material(number: int = 40, *, cache: PhaseCache | None = None) -> PreparedDataset:
    """Return the world with vectors for pictures, read."""
    return prepare(examples(number), cache=cache or PhaseCache(), vectors=vectors(number))


#: Sentences of another text about the same things.
AIDS = Resources(
    [
        tuple(word for word in SCENES[number % 5][:4] if isinstance(word, str)) + (SCENES[number % 5][5],)
        for number in range(60)
    ],
    "other.txt",
)
