"""Pictures of things in parts of them, with captions that name the things, as a corpus with regions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from annotation.datasets.importing import import_records
from annotation.models import Caption
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from evaluation.selectors import names_of
from evaluation.services.features.importing import FeatureImport, import_features
from phrasebox.text.tokens import tokenise
from tests import worlds
from tests.evaluation.database.conftest import output_of

THINGS = ("dog", "man", "boat", "tree", "horse", "ball")
#: Boxes of the whole picture and of four parts; two parts contain things.
BOXES = ((1, 1, 100, 60), (1, 1, 40, 30), (61, 1, 100, 30), (1, 31, 40, 60), (50, 40, 90, 60))
IMAGES = 90
SPLITS = ("train",) * 60 + ("val",) * 15 + ("test",) * 15
SMALL = """
extends = "BRNN"
[text]
least_count = 2
[settings]
size = 24
word_size = 12
rates = [0.002]
epochs = 12
batch = 30
dropout = 0.1
"""


def scene_record(number: int, things: tuple[int, int], parts: tuple[int, int], split: str) -> ImageRecord:
    """Return an image with two things in two parts, and two captions that name both with a box each."""
    first, second = (THINGS[thing] for thing in things)
    texts = (f"A {first} beside a {second} .", f"The small {second} , near the {first}")
    spans = (((0, 2), (3, 5)), ((4, 6), (0, 3)))
    words = [text.split() for text in texts]
    mentions = [
        [
            Mention(caption, start, end, tuple(words[caption][start:end]), ("other",))
            for caption, (start, end) in enumerate(both[which] for both in spans)
        ]
        for which in range(2)
    ]
    chains = tuple(Chain(str(which + 1), tuple(mention)) for which, mention in enumerate(mentions))
    objects = tuple(LayerObject((str(which + 1),), Box(*BOXES[part])) for which, part in enumerate(parts))
    captions = tuple(CaptionRecord(text) for text in texts)
    return ImageRecord(
        f"{number}", f"{number}.png", captions, split, 100, 60, layer=LayerRecord(chains, objects)
    )


def make_scenes(folder: Path) -> str:
    """Import the corpus `scenes` with its layer, regions `parts`, and whole images `whole`; DATA_DIR is in
    `folder`."""
    return worlds.again("scenes", lambda: _made_scenes(folder), folder=folder)


def _made_scenes(folder: Path) -> str:
    rng = np.random.default_rng(5)
    looks = rng.standard_normal((len(THINGS), 10))
    records, rows, ids, boxes = [], [], [], []
    for number, split in enumerate(SPLITS):
        things = tuple(rng.choice(len(THINGS), 2, replace=False).tolist())
        parts = tuple((1 + rng.choice(4, 2, replace=False)).tolist())
        records.append(scene_record(number, things, parts, split))
        vectors = 0.3 * rng.standard_normal((len(BOXES), 10))
        vectors[0] += looks[list(things)].mean(axis=0)
        for thing, part in zip(things, parts, strict=True):
            vectors[part] += looks[thing]
        rows += list(vectors)
        ids += [f"{number}.png"] * len(BOXES)
        boxes += list(BOXES)
    import_records(name="scenes", records=records, format="jsonl", source="memory")
    arrays: dict[str, Any] = {"vectors": np.array(rows, np.float32), "ids": np.array(ids), "boxes": boxes}
    np.savez(folder / "parts.npz", **arrays)
    import_features(FeatureImport(corpus="scenes", name="parts", path=folder / "parts.npz", kind="region"))
    whole = np.array(rows, np.float32)[:: len(BOXES)]
    np.savez(folder / "whole.npz", vectors=whole, ids=np.array(ids[:: len(BOXES)]))
    import_features(FeatureImport(corpus="scenes", name="whole", path=folder / "whole.npz", kind="image"))
    return "scenes"


def aligned_scenes(folder: Path) -> str:
    """Make the scenes, and train the system `aligned` on their regions."""

    def build() -> str:
        corpus = make_scenes(folder)
        train_alignment(folder)
        return corpus

    return worlds.again("aligned scenes", build, folder=folder)


def train_alignment(folder: Path) -> None:
    """Train the system `aligned` on the regions."""
    (folder / "small.toml").write_text(SMALL)
    output_of(
        "train_system",
        "aligned",
        "--recipe",
        folder / "small.toml",
        "--corpus",
        "scenes",
        "--regions",
        "parts",
    )


def write_parses(corpus: str, file: Path, *, without: str = "") -> Path:
    """Write parses in which every word depends on the third one, the root; none for the captions of one
    image."""
    names, texts = names_of(corpus), dict(Caption.objects.values_list("pk", "text"))
    lines = []
    for pk, name in names.caption_name.items():
        if without and name.startswith(without):
            continue
        lines.append(f"# sent_id = {name}")
        for number, word in enumerate(tokenise(texts[pk]), start=1):
            head, relation = (0, "root") if number == 3 else (3, "before" if number < 3 else "after")
            lines.append(f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_")
        lines.append("")
    file.write_text("\n".join(lines))
    return file
