"""Corpora into the database and out again at the size of Flickr30k: rates and peak memory.

    [DATABASE_URL=postgresql://...] python -m studies.intake [--images 31783] [--pictures 1000]

The generated corpus has as many captions, mentions, chains and boxes per image as Plummer et al. 2015 report.
Each row is one `manage.py` command in a process of its own, on a temporary SQLite database, or on a temporary
database beside that of DATABASE_URL. CPU seconds are those of the command and of its readers, start-up
included; peak memory is that of the command, and of the largest reader.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg2
from PIL import Image as Picture

from annotation.common.plain_text import text_table
from annotation.formats import FORMATS
from annotation.protocol.terms import (
    CATEGORIES,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)

FLICKR30K = 31_783
REPOSITORY = Path(__file__).resolve().parent.parent
SCRATCH = "phrasebox_benchmark"
CAPTIONS = 5
#: Formats of the imported corpora: of captions alone, and with layers, of which the first is exported.
OF_CAPTIONS, OF_LAYERS = ("flickr8k", "csv"), ("jsonl", "entities", "coco", "parquet")
#: Linux's request that orphans of its descendants become children of a process.
_SUBREAPER = 36
WIDTH, HEIGHT = 500, 375

#: Chains of Table 1, as weights; boxes of a chain and their shares (section 2.4; several: 2.7 on average).
_WEIGHTS = (59_766, 42_380, 12_809, 5_086, 5_561, 1_827, 46_919, 82_098)
_BOXES, _SHARES = (0, 1, 2, 3, 4), (0.209, 0.591, 0.10, 0.062, 0.038)


def made_up(images: int, *, layered: bool) -> Iterator[ImageRecord]:
    """Yield images with 5 captions, 7.7 chains, 16 mentions and 8.7 boxes each, always the same."""
    rng = random.Random(30)
    for number in range(images):
        words: list[list[str]] = [[] for _ in range(CAPTIONS)]
        chains: list[Chain] = []
        objects: list[LayerObject] = []
        for label in range(7 + (rng.random() < 0.678)):
            kind = rng.choices(CATEGORIES, _WEIGHTS)[0]
            places = sorted(rng.sample(range(CAPTIONS), 1 + sum(rng.random() < 0.276 for _ in range(4))))
            mentions = []
            for caption in places:
                start = len(words[caption])
                phrase = ("a", f"{kind}{rng.randrange(500)}")
                words[caption] += [*phrase, "beside"]
                mentions.append(Mention(caption, start, start + 2, phrase, (kind,)))
            name = str(number * 10 + label + 1)
            chains.append(Chain(name, tuple(mentions)))
            for _ in range(boxes := rng.choices(_BOXES, _SHARES)[0]):
                x, y = rng.randrange(1, WIDTH - 100), rng.randrange(1, HEIGHT - 100)
                objects.append(LayerObject((name,), Box(x, y, x + rng.randrange(100), y + 99)))
            if not boxes:
                objects.append(LayerObject((name,), nobndbox=True))
        chains.sort(key=lambda chain: chain.mentions[0].span)
        yield ImageRecord(
            id=str(1_000_000 + number),
            filename=f"{1_000_000 + number}.jpg",
            captions=tuple(CaptionRecord(" ".join([*sentence, "something ."])) for sentence in words),
            split="train",
            width=WIDTH if layered else 0,
            height=HEIGHT if layered else 0,
            layer=LayerRecord(tuple(chains), tuple(objects)) if layered else None,
        )


def photographs(folder: Path, images: int) -> None:
    """Create `images` JPEG files with the detail of a photograph, named like the first images, each with
    other bytes."""
    folder.mkdir()
    noise = Picture.effect_noise((WIDTH // 4, HEIGHT // 4), 60).resize((WIDTH, HEIGHT))
    picture = Picture.merge("RGB", (noise, noise.rotate(180), noise))
    for number in range(images):
        density = divmod(number, 10_000)
        picture.save(folder / f"{1_000_000 + number}.jpg", dpi=(density[0] + 1, density[1] + 1))


@dataclass(frozen=True, slots=True)
class Used:
    """The resources of a command: the standard output, seconds by the clock and of the CPU, and the peak
    memory of its own process and of its readers, in MiB."""

    output: str
    seconds: float
    cpu: float
    peak: int
    of_readers: int


def run_command(arguments: Sequence[str], environment: Mapping[str, str]) -> Used:
    """Run a command of ours to its end, and that of its readers. Raises AssertionError if it fails."""
    # Readers outlive the command by a moment: they become our children.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _pid, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    assert process.returncode == 0, output
    cpu, of_readers = used.ru_utime + used.ru_stime, 0
    with suppress(ChildProcessError):
        while True:
            _pid, _status, reader = os.wait4(-1, 0)
            cpu += reader.ru_utime + reader.ru_stime
            of_readers = max(of_readers, reader.ru_maxrss)
    return Used(output, seconds, cpu, used.ru_maxrss // 2**10, of_readers // 2**10)


@contextmanager
def database(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment of a temporary migrated database."""
    url = os.environ.get("DATABASE_URL", "")
    environment = {**os.environ, "DATA_DIR": str(folder / "data")}
    if not url.startswith("postgres"):
        environment["DATABASE_URL"] = f"sqlite:///{folder / 'base.sqlite3'}"
        yield environment
        return
    server = psycopg2.connect(url)
    server.autocommit = True
    try:
        with server.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {SCRATCH}")
            environment["DATABASE_URL"] = f"{url.rpartition('/')[0]}/{SCRATCH}"
            try:
                yield environment
            finally:
                cursor.execute(f"DROP DATABASE {SCRATCH}")
    finally:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=FLICKR30K)
    parser.add_argument("--pictures", type=int, default=1_000, help="how many pictures to import")
    options = parser.parse_args()
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as name, database(Path(name)) as environment:
        folder = Path(name)
        for format in (*OF_CAPTIONS, *OF_LAYERS):
            (folder / format).mkdir()
            FORMATS.get(format).write(made_up(options.images, layered=format in OF_LAYERS), folder / format)
        (folder / "pictured").mkdir()
        some = (replace(r, layer=None) for r in made_up(options.pictures, layered=False))
        FORMATS.get("flickr8k").write(some, folder / "pictured")
        photographs(folder / "pictures", options.pictures)

        def run(what: str, *arguments: str) -> None:
            used = run_command((*arguments, "--json"), environment)
            report = json.loads(used.output.splitlines()[-1])
            held = report.get("counts", report)
            records = sum(held.get(k) or 0 for k in ("images", "captions", "mentions", "chains", "boxes"))
            rows.append(
                [
                    what,
                    held["images"],
                    records,
                    round(used.seconds, 1),
                    round(used.cpu, 1),
                    round(held["images"] / used.seconds),
                    round(records / used.seconds),
                    used.peak,
                    used.of_readers,
                ]
            )
            print(what, round(used.cpu, 1), file=sys.stderr, flush=True)

        subprocess.run(
            [sys.executable, "manage.py", "migrate", "-v0"], cwd=REPOSITORY, env=environment, check=True
        )
        for format in (*OF_CAPTIONS, *OF_LAYERS):
            what = "a full layer" if format in OF_LAYERS else "captions"
            command = ("import_corpus", format, str(folder / format), "--format", format)
            run(f"import {what} ({format})", *command)
            if format == OF_CAPTIONS[0]:
                run("the same again", *command)
        pictures = ("--images", str(folder / "pictures"))
        run(
            "import pictures (flickr8k)",
            *("import_corpus", "p", str(folder / "pictured"), "--format", "flickr8k", *pictures),
        )
        for key in FORMATS.keys():
            if FORMATS.get(key).writes:
                out = str(folder / f"out-{key}")
                run(f"export ({key})", "export_dataset", OF_LAYERS[0], "--format", key, "--out", out)
    rates = ("images/s", "records/s")
    head = ["what", "images", "records", "seconds", "CPU s", *rates, "peak MiB", "of readers"]
    print(text_table(head, rows))


if __name__ == "__main__":
    main()
