"""Time for tags of a corpus with stored mentions, compared with finding the mentions.

    python -m studies.stored_tags DATA [--images 31783] [--processes 2]

DATA is the folder of the real data. The corpus has the given number of images with five captions of Flickr8k
each, repeated as necessary. It is imported with the mentions that the chunker finds, in a temporary SQLite
database. `rank_tags` then reads the mentions, and the given number of processes the captions. Times are
wall-clock and CPU times, including child processes; peaks are those of this process.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import django

CAPTIONS = 5


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print the time of the block."""

    def busy() -> float:
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    began, worked = time.perf_counter(), busy()
    yield
    took, worked = time.perf_counter() - began, busy() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what}: {took:.1f} s, {worked:.1f} s of the processors; peak {peak:.0f} MiB", flush=True)


def main(data: Path, images: int, processes: int) -> None:
    """Create the corpus, and measure."""
    from django.core.management import call_command

    from annotation.datasets.importing import import_records
    from annotation.protocol.mentions import find_mentions
    from annotation.protocol.terms import CaptionRecord, Chain, ImageRecord, LayerRecord, Mention
    from annotation.selectors.corpora import corpus_named
    from evaluation.services.tags.ranked import TagsRequest, tags_of_images
    from phrasebox.text.tokens import tokenise

    call_command("migrate", verbosity=0)
    texts: dict[str, list[str]] = {}
    for line in (data / "flickr8k" / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        name, _, text = line.partition("\t")
        texts.setdefault(name.rpartition("#")[0], []).append(text)
    sentences = [[tokenise(text) for text in image_texts[:CAPTIONS]] for image_texts in texts.values()]
    chosen = list(itertools.islice(itertools.cycle(sentences), images))
    tagged: list[Sequence[Mention]] = []
    with timed(f"finding the mentions of {images:,} images, {CAPTIONS * images:,} captions"):
        tagged += (find_mentions(image_texts) for image_texts in chosen)
    print(f"{sum(map(len, tagged)):,} mentions")

    def records() -> Iterator[ImageRecord]:
        for number, (image_texts, mentions) in enumerate(zip(chosen, tagged, strict=True)):
            captions = tuple(CaptionRecord(" ".join(tokens), tuple(tokens)) for tokens in image_texts)
            chains = tuple(Chain(str(index + 1), (mention,)) for index, mention in enumerate(mentions))
            yield ImageRecord(f"{number}", f"{number}.jpg", captions, layer=LayerRecord(chains))

    with timed("importing them"):
        import_records(name="many", records=records(), format="jsonl", source="memory")
    tagged.clear()
    layer = corpus_named("many").layers.get().name
    for number in sorted({1, processes}):
        tags = 0
        with timed(f"tags from stored mentions, {number} {'process' if number == 1 else 'processes'}"):
            for mention in tags_of_images(TagsRequest(corpus="many", layer=layer), processes=number):
                tags += len(mention.tags)
        print(f"{tags:,} tags")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--images", type=int, default=31_783)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/base.sqlite3"
        django.setup()
        main(options.data, options.images, options.processes)
