"""Make a part of Flickr8k as a folder with the same files, including the errors of the whole."""

from __future__ import annotations

from pathlib import Path

_SPLITS = ("test", "train", "dev")


def part_of_flickr8k(whole: Path, folder: Path, *, images: int) -> Path:
    """Copy the first `images` images of each split of `whole`, with their captions and judgments."""
    stored: set[str] = set()
    for split in _SPLITS:
        name = f"Flickr_8k.{split}Images.txt"
        names = (whole / name).read_text().split()[:images]
        (folder / name).write_text("".join(f"{image}\n" for image in names))
        stored.update(names)
    for name, columns in (
        ("Flickr8k.token.txt", 1),
        ("Flickr8k.lemma.token.txt", 1),
        ("ExpertAnnotations.txt", 2),
        ("CrowdFlowerAnnotations.txt", 2),
    ):
        lines = (whole / name).read_text().splitlines(keepends=True)
        own_lines = [
            line
            for line in lines
            if all(about.partition("#")[0] in stored for about in line.split("\t")[:columns])
        ]
        (folder / name).write_text("".join(own_lines))
    return folder
