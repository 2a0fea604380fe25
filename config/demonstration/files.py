"""The input files of the evaluation part of the demonstration, made from a corpus with gold.

Features of the pictures and recipes that use them are where the training page lists them; the scores of two
systems "made elsewhere", and gold judgments of each pair, are beside the corpus.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from annotation.protocol.terms import ImageRecord, Mention


@dataclass(frozen=True)
class Described:
    """Pictures and captions by name, in order; `fits` is by picture and caption."""

    images: tuple[str, ...]
    captions: tuple[str, ...]
    fits: NDArray[np.bool_]


def described(records: Sequence[ImageRecord]) -> Described:
    """Return which captions fit which pictures: one object of a caption may be missing.

    Objects are identified by their head nouns in any caption of the picture. Judges are told that small
    mistakes are allowed, so one object may be missing if two others are there; a picture's own captions are
    always right. Records need their gold layers.
    """
    seen = [{mention.head for mention in _mentions(record)} for record in records]
    captions, fits = [], []
    for number, record in enumerate(records):
        named: list[set[str]] = [set() for _ in record.captions]
        for mention in _mentions(record):
            named[mention.caption].add(mention.head)
        for number_of_caption, heads in enumerate(named):
            captions.append(f"{record.filename}#{number_of_caption}")
            enough = max(2, len(heads) - 1)
            fits.append([row == number or len(heads & there) >= enough for row, there in enumerate(seen)])
    names = tuple(record.filename for record in records)
    return Described(names, tuple(captions), np.array(fits, dtype=bool).reshape(-1, len(names)).T)


def _mentions(record: ImageRecord) -> list[Mention]:
    assert record.layer is not None
    return [mention for chain in record.layer.chains for mention in chain.mentions]


#: Pictures are described by the colours of that many fields per side.
FIELDS = 6
#: Recipes by name, with the published recipe that they extend. The image side is replaced by those colours.
RECIPES = {"near": "NN5-F1-idf", "kcca": "BoW5"}
#: Systems made elsewhere, with the weight of the gold in their scores; the rest is random.
UPLOADED_SYSTEMS = {"chance": 0.0, "oracle": 2.0}
#: The number of recorded votes of each pair, all equal.
_VOTES = 3
_SETTINGS = """\
# Visitors of the demonstration start without a qualification test.
[trust]
qualification = false

[pay]
basis = "item"
currency = "USD"
per_item = { relevance = 0.25 }
"""


@dataclass(frozen=True)
class Files:
    """The paths; recipes and scores by the system's name."""

    features: Path
    recipes: dict[str, Path]
    scores: dict[str, Path]
    judgments: Path
    settings: Path


def make_demo_files(
    records: Sequence[ImageRecord], *, split: str, seed: int, sources: Path, folder: Path, suffix: str = ""
) -> Files:
    """Write the files, deterministically: those in `sources` are listed by pages, the rest is in `folder`.

    Scores and judgments are for the images of `split`. Names of features have the `suffix`, since those of
    several corpora are in one folder. Records need their pictures and gold layers.
    """
    demo = Files(
        sources / "features" / f"colours{suffix}.npz",
        {name: sources / "recipes" / f"colours-{name}.toml" for name in RECIPES},
        {name: folder / f"{name}.npz" for name in UPLOADED_SYSTEMS},
        folder / "gold.csv",
        folder / "batch.toml",
    )
    for file in (demo.features, *demo.recipes.values(), demo.judgments):
        file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        demo.features,
        vectors=np.stack([_colours(record) for record in records]),
        ids=np.array([record.filename for record in records]),
    )
    for name, file in demo.recipes.items():
        file.write_text(f'extends = "{RECIPES[name]}"\n\n[image]\nkernel = "linear"\npower = 1\n')
    captions = described([record for record in records if record.split == split])
    for number, (name, file) in enumerate(demo.scores.items()):
        noise = np.random.default_rng([seed, number]).standard_normal(captions.fits.shape)
        scores = UPLOADED_SYSTEMS[name] * captions.fits + noise
        np.savez(file, scores=scores, images=np.array(captions.images), captions=np.array(captions.captions))
    _write_judgments(captions, demo.judgments)
    demo.settings.write_text(_SETTINGS)
    return demo


def _colours(record: ImageRecord) -> NDArray[np.float32]:
    """Return a picture's coarse colours: FIELDS by FIELDS by red, green and blue, from 0 to 1, as one
    vector."""
    assert record.picture is not None
    with Image.open(record.picture) as picture:
        picture.draft("RGB", (8 * FIELDS, 8 * FIELDS))
        small = picture.convert("RGB").resize((FIELDS, FIELDS), Image.Resampling.BOX)
    return (np.asarray(small).ravel() / 255).astype(np.float32)


def _write_judgments(captions: Described, file: Path) -> None:
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["image", "caption", "yes", "no"])
        for image, fits in zip(captions.images, captions.fits, strict=True):
            for caption, right in zip(captions.captions, fits, strict=True):
                rows.writerow([image, caption, _VOTES * int(right), _VOTES * int(not right)])
