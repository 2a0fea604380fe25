"""Properties of all formats: registered by name, strict with their source, and bounded in memory."""

from __future__ import annotations

import shutil
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from annotation.formats import FORMATS
from annotation.protocol.terms import (
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from phrasebox.registry import UnknownName
from tests.formats.reading import error_of, put
from tests.sizes import sized

READABLE = [entry.key for entry in FORMATS if entry.reads]
FILES = {
    "coco": "captions.json",
    "csv": "captions.csv",
    "flickr30k": "captions.json",
    "flickr8k": "Flickr8k.token.txt",
    "jsonl": "corpus.jsonl",
    "karpathy": "dataset.json",
}


def corpus(size: int) -> Iterator[ImageRecord]:
    """Yield images of five captions with a mention and a box each: about 6 KB each in memory."""
    for n in range(size):
        caption_records = tuple(
            CaptionRecord(f"A dog number {n} runs over the wide green field , turn {k} .") for k in range(5)
        )
        chains = tuple(
            Chain(str(k + 1), (Mention(k, 0, 2, ("A", "dog"), ("animals",)),))
            for k in range(len(caption_records))
        )
        objects = tuple(LayerObject((chain.id,), Box(1, 1, 9, 9)) for chain in chains)
        yield ImageRecord(
            f"{n:06}",
            f"{n:06}.jpg",
            caption_records,
            split="train",
            width=90,
            height=90,
            layer=LayerRecord(chains, objects),
        )


def test_importing_the_package_registers_every_format():
    known = {"coco", "csv", "entities", "flickr30k", "flickr8k", "jsonl", "karpathy", "parquet"}
    assert known <= set(FORMATS.keys())


def test_an_unknown_format_lists_the_known_ones():
    with pytest.raises(UnknownName, match="unknown format 'flickr31k'; known: coco, csv, .*, parquet"):
        FORMATS.get("flickr31k")


@pytest.mark.parametrize("key", READABLE)
def test_a_source_that_is_not_there_is_refused(tmp_path, key):
    error_of(key, tmp_path / "missing.json")


@pytest.mark.parametrize("key", READABLE)
def test_an_empty_folder_is_refused(tmp_path, key):
    error_of(key, tmp_path)


@pytest.mark.parametrize("key", sorted(FILES))
@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\xff\xfe{\x00}\x00", b"\x89PNG\r\n\x1a\n\0\0", b"{}", b"[]"]
)
def test_a_file_of_nothing_or_of_something_else_is_refused(tmp_path, key, content):
    error_of(key, put(tmp_path / FILES[key], content))


@pytest.mark.parametrize("key", ["coco", "flickr30k", "karpathy", "jsonl"])
def test_a_file_cut_short_anywhere_is_refused(tmp_path, key):
    (tmp_path / "whole").mkdir()
    FORMATS.get(key).write(corpus(2), tmp_path / "whole")
    content = (tmp_path / "whole" / FILES[key]).read_bytes().rstrip()
    ends = {0, len(content)} | {at for at, byte in enumerate(content) if byte == ord("\n")}
    for cut in {*range(1, len(content), sized(37, 11)), len(content) - 1}:
        if key == "jsonl" and {cut, cut - 1} & ends:
            continue  # whole lines are a valid file
        error_of(key, put(tmp_path / FILES[key], content[:cut]))


@pytest.mark.parametrize("key", [entry.key for entry in FORMATS if entry.writes])
def test_memory_does_not_grow_with_the_corpus(tmp_path, key, monkeypatch):
    monkeypatch.setattr("annotation.formats.parquet.ROW_GROUP", 100)
    entry = FORMATS.get(key)
    sizes = (10, sized(110, 200), sized(330, 1000))

    def write(size: int) -> None:
        shutil.rmtree(tmp_path / str(size), ignore_errors=True)
        (tmp_path / str(size)).mkdir()
        entry.write(corpus(size), tmp_path / str(size))

    def read(size: int) -> None:
        assert sum(1 for _ in entry.read(tmp_path / str(size))) == size

    def per_image(act: Callable[[int], None]) -> float:
        """Return the bytes by which the peak grows with each further image; a record has about 6,000."""
        peaks = []
        for size in sizes:  # the first one also pays for things made once, such as imported modules
            tracemalloc.start()
            act(size)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return (peaks[2] - peaks[1]) / (sizes[2] - sizes[1])

    def grows(act: Callable[[int], None]) -> bool:
        """Return whether it grows each time: other allocations of the process count too, but happen once."""
        # Ids are kept, to detect duplicates; the rest is noise of caches.
        return all(per_image(act) >= 600 for _ in range(3))

    assert not grows(write)
    if entry.reads:
        assert not grows(read)
