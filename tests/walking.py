"""Shared by both walks through the whole product: pictures with captions, and runs that rank them.

The pictures are forty real photographs if available (`REAL_DATA_DIR`, or ../shared/data), else forty of the
generated corpus. Real photographs are never stored: screenshots of them go to the test's own folder, or to
the folder of `--screenshots`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from config.sample import sample_records
from tests.house.product import REPOSITORY
from tests.intake.uploading import zipped

PASSWORD = "the harbour at six"
#: Number of pictures, and captions per picture; the truncated ones, and the one without captions.
PICTURES, CAPTIONS = 40, 2
CORRUPT, SILENT = (7, 21), 39
#: Number of pictures that remain after the three are skipped.
SOUND = PICTURES - len(CORRUPT) - 1
#: Number of bytes of a truncated picture.
CUT = 300


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture as the bytes of a file, and its captions."""

    name: str
    content: bytes
    captions: tuple[str, ...]


def captioned_pictures(folder: Path) -> list[CaptionedPicture]:
    """Return real photographs if available, else generated pictures, which are drawn in `folder`."""
    data = Path(os.environ.get("REAL_DATA_DIR") or REPOSITORY.parent / "shared" / "data")
    real = data / "flickr8k"
    if not real.is_dir():
        return [
            CaptionedPicture(
                record.filename,
                (folder / record.filename).read_bytes(),
                tuple(caption.text for caption in record.captions[:CAPTIONS]),
            )
            for record in sample_records(PICTURES, seed=1, out=folder)
        ]
    written = defaultdict(list)
    for line in (real / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        index, text = line.split("\t")
        written[index.rpartition("#")[0]].append(text)
    files = sorted((real / "thumbnails").iterdir())[:PICTURES]
    return [
        CaptionedPicture(file.name, file.read_bytes(), tuple(written[file.name][:CAPTIONS])) for file in files
    ]


def packed(pictures: Sequence[CaptionedPicture]) -> bytes:
    """Return a zip of the pictures and their captions, with two truncated pictures and one without
    captions."""
    files = {
        f"pictures/{picture.name}": picture.content[: CUT if number in CORRUPT else None]
        for number, picture in enumerate(pictures)
    }
    lines = [
        f"{picture.name}#{index}\t{text}\n"
        for number, picture in enumerate(pictures)
        for index, text in enumerate(picture.captions)
        if number != SILENT
    ]
    return zipped({**files, "captions.token.txt": "".join(lines).encode()})


def sound(pictures: Sequence[CaptionedPicture]) -> list[str]:
    """Return the names of the pictures that can be imported."""
    return [picture.name for number, picture in enumerate(pictures) if number not in (*CORRUPT, SILENT)]


def ranked(images: Iterable[str], *, noise: float, seed: int) -> str:
    """Return a run in TREC's format, in which every image is a query for captions.

    An image's own first caption scores 1 and the first captions of the others 0, plus noise of up to `noise`
    each: below 1 the own caption is always first.
    """
    rng, named = Random(seed), list(images)
    lines = []
    for image in named:
        scores = {f"{another}#0": (another == image) + noise * rng.random() for another in named}
        ordered = sorted(scores, key=lambda caption: -scores[caption])
        lines += [
            f"{image} Q0 {caption} {rank} {scores[caption]:.6f} walk\n"
            for rank, caption in enumerate(ordered, 1)
        ]
    return "".join(lines)


def own_first(run: str) -> float:
    """Return the share of images whose own caption is ranked first: R@1."""
    tops = [line.split() for line in run.splitlines() if line.split()[3] == "1"]
    return sum(caption == f"{image}#0" for image, _, caption, *_ in tops) / len(tops)
