"""The sample corpus: any number of drawn scenes with captions and gold, from one seed.

Image `i` depends only on the seed and on `i`, so a corpus of any size is a prefix of every larger one.
Nothing is stored between images.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TextIO

from PIL import Image

from scenes import acts, captions, gold
from scenes.art.canvas import Canvas
from scenes.parses import conllu_of
from scenes.referents import Entity
from scenes.settings import OUTDOORS, SETTINGS
from scenes.stage import Stage, Standpoint
from scenes.stories import STORIES, WIDE


def birds(s: Stage) -> None:
    """Draw some birds in the sky."""
    count = s.rng.randint(1, 4)
    x, y = s.rng.uniform(0.12, 0.6), s.height * s.rng.uniform(0.08, 0.2)
    coat = s.rng.choice(("white", "gray", "black"))
    flock = []
    for k in range(count):
        bird, _ = s.animal(
            "bird",
            Standpoint(x + 0.105 * k, 0.5, y=y + s.height * 0.05 * ((k * 2) % 3), order=1),
            "fly",
            size=0.11,
            coat=coat,
        )
        flock.append(bird)
    what = flock[0] if count == 1 else s.group(flock, "bird", bunch="a flock of" if count > 2 else "")
    s.says(
        what,
        "*fly by",
        "*fly overhead",
        f"*fly in {s.notion('the sky', scene=True)}",
        main=False,
        here=False,
        weight=0.6,
    )


def _passer_by(s: Stage) -> None:
    """Put a walking person in the back, partly hidden by the person in front."""
    acts.passer_by(s, s.rng.choice((0.1, 0.5, 0.9)) + s.rng.uniform(-0.05, 0.05))


def resting_dog(s: Stage) -> None:
    """A dog that lies at the side."""
    dog, _ = s.animal("dog", Standpoint(s.rng.choice((0.1, 0.9)), 0.98), s.rng.choice(("lie", "sit")))
    s.says(dog, "*rest nearby", "*look on", "*watch", main=False, here=False, weight=0.7)


OUTSIDE = (birds, birds, _passer_by, resting_dog)


#: The probability of each setting.
_SHARES = {
    "park": 3.0, "street": 2.6, "beach": 2.0, "field": 1.7, "snow": 1.5, "lake": 1.4, "concert": 1.6,
    "living room": 1.2, "kitchen": 1.0, "hall": 1.2,
}  # fmt: skip

#: Width and height in pixels.
_WIDE = ((500, 375), (500, 375), (500, 333))
_HIGH = ((375, 500), (375, 500), (400, 500))

#: The smallest number of mentions and chains for which an image is worth annotating.
_LEAST_MENTIONS = 11
_LEAST_CHAINS = 5


def split_of(index: int, seed: int) -> str:
    """Return train, val or test: about 80, 10 and 10 per cent, drawn per image."""
    chance = Random(f"{seed}:{index}:split").random()
    return "train" if chance < 0.8 else "val" if chance < 0.9 else "test"


def _image_id(index: int) -> str:
    """The id of image `index` (from 0)."""
    return f"scene-{index + 1:06d}"


@dataclass(frozen=True, slots=True)
class GeneratedScene:
    """A scene as a line of a corpus file (docs/formats.md, jsonl), its picture (mode RGB), and its captions
    as the grammar wrote them."""

    image: dict[str, Any]
    picture: Image.Image
    sentences: tuple[captions.Sentence, ...]


def _attempt(index: int, seed: int, attempt: int) -> GeneratedScene | None:
    rng = Random(f"{seed}:{index}:{attempt}")
    setting = rng.choices(list(_SHARES), list(_SHARES.values()))[0]
    story = rng.choice(STORIES[setting])
    width, height = rng.choice(_WIDE if story in WIDE or rng.random() < 0.68 else _HIGH)
    canvas = Canvas(width, height, mirrored=rng.random() < 0.5)
    stage = Stage(canvas, rng)
    SETTINGS[setting](stage)
    story(stage)
    if setting in OUTDOORS and rng.random() < 0.5:
        rng.choice(OUTSIDE)(stage)
    stage.play()
    picture, extents = canvas.finish()
    boxes = gold.visible([r for r in stage.referents if isinstance(r, Entity)], extents)
    usable = gold.mentionable(stage.referents, boxes)
    sentences = captions.write(stage, usable, rng)
    if sentences is None:
        return None
    layer = gold.layer(index, sentences, usable, boxes)
    mentions = sum(len(chain["mentions"]) for chain in layer["chains"])
    if mentions < _LEAST_MENTIONS or len(layer["chains"]) < _LEAST_CHAINS:
        return None
    image = {
        "id": _image_id(index),
        "filename": f"{_image_id(index)}.jpg",
        "split": split_of(index, seed),
        "width": width,
        "height": height,
        "captions": [{"text": " ".join(s.words)} for s in sentences],
        "layer": layer,
    }
    return GeneratedScene(image, picture, tuple(sentences))


def generate_scene(index: int, *, seed: int) -> GeneratedScene:
    """Return image `index` (from 0) of the corpus `seed`."""
    attempt = 0
    while (scene := _attempt(index, seed, attempt)) is None:
        attempt += 1
    return scene


def generate(
    number: int, *, seed: int, out: Path | None = None, parses: TextIO | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the first `number` images of the corpus `seed`, as lines of a corpus file; their pictures are
    written as JPEG files to `out`, if given, and the parses of their captions as CoNLL-U to `parses`.

    Raises ValueError if `number` is negative, OSError if `out` cannot be written.
    """
    if number < 0:
        raise ValueError(f"cannot generate {number} images: expected 0 or more")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for index in range(number):
        scene = generate_scene(index, seed=seed)
        if out is not None:
            scene.picture.save(out / scene.image["filename"], quality=90, subsampling=0)
        if parses is not None:
            parses.writelines(conllu_of(scene.image["id"], scene.sentences))
        yield scene.image
