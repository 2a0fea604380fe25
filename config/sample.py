"""The sample corpus: the drawn scenes of `scenes/` as records of a corpus."""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from annotation.formats.jsonl import record_of
from annotation.protocol.terms import ImageRecord
from scenes.generate import generate, generate_scene


def sample_record(index: int, *, seed: int) -> ImageRecord:
    """Return image `index` (from 0) of the sample corpus `seed`, without a picture."""
    return record_of(generate_scene(index, seed=seed).image)


def sample_records(
    number: int, *, seed: int, out: Path | None = None, parses: TextIO | None = None
) -> Iterator[ImageRecord]:
    """Yield the first `number` images of the sample corpus `seed`; their pictures are written to `out`, and
    the parses of their captions as CoNLL-U to `parses`, if given.

    Raises ValueError if `number` is negative, OSError if `out` cannot be written.
    """
    for image in generate(number, seed=seed, out=out, parses=parses):
        yield record_of(image, images=out)
