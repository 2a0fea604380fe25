"""How long it takes from vectors to a table: by a command for each step, and by `evaluate`.

    python -m studies.one_step [--rounds N]

The corpus is the part of Flickr8k with thumbnails (REAL_DATA_DIR, or ../shared/data): 1,000 images with five
captions each, SqueezeNet vectors of them, and drawn vectors of an outside model. Ridge and nCCA are trained,
all three rank the test images in both directions, and are compared with nCCA. Each command is a process of
its own, in an empty DATA_DIR with SQLite; both ways are measured in turn. Times are medians of N rounds:
seconds by the clock, and of the processor, which a busy machine changes less.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

#: The folder of vectors beside the corpus's files.
_CORPUS, _VECTORS = "corpus", "vectors"
#: Numbers of an outside model's vectors.
_WIDTH = 64
_SPLITS = ("train", "dev", "test")


def flickr8k_with_thumbnails(data: Path, folder: Path) -> None:
    """Write the files of the images with thumbnails: captions, splits, vectors of images, and drawn vectors
    of an outside model."""
    names = (data / "features/flickr8k_1000_names.txt").read_text().split()
    vectors = np.load(data / "features/flickr8k_1000_squeezenet_fire9_512.npy")
    lines = (data / "flickr8k/Flickr8k.token.txt").read_text().splitlines()
    captions = [line for line in lines if line.partition("#")[0] in set(names)]
    corpus = folder / _CORPUS
    corpus.mkdir()
    (corpus / "Flickr8k.token.txt").write_text("".join(f"{line}\n" for line in captions))
    for split in _SPLITS:
        name = f"Flickr_8k.{split}Images.txt"
        listed = [image for image in (data / "flickr8k" / name).read_text().split() if image in set(names)]
        (corpus / name).write_text("".join(f"{image}\n" for image in listed))
    vectors_folder = folder / _VECTORS
    vectors_folder.mkdir()
    np.savez(vectors_folder / "squeezenet.npz", vectors=vectors, ids=np.array(names))
    rng = np.random.default_rng(0)
    images = rng.normal(size=(len(names), _WIDTH)).astype(np.float32)
    ids = [line.partition("\t")[0] for line in captions]
    row = {name: number for number, name in enumerate(names)}
    owner = [row[caption.partition("#")[0]] for caption in ids]
    described = images[owner] + 2 * rng.normal(size=(len(ids), _WIDTH)).astype(np.float32)
    np.savez(
        vectors_folder / "mine.npz",
        images=images,
        captions=described,
        image_ids=np.array(names),
        caption_ids=np.array(ids),
    )


def by_steps(folder: Path) -> list[Sequence[str]]:
    """Return the commands of all steps, one after the other."""
    systems = ("nCCA", "Ridge", "mine")
    return [
        ("import_features", "flickr8k", str(folder / _VECTORS / "squeezenet.npz"), "--name", "squeezenet"),
        *(
            ("train_system", recipe, "--recipe", recipe, "--corpus", "flickr8k", "--features", "squeezenet")
            for recipe in systems[:2]
        ),
        ("add_system", "mine", str(folder / _VECTORS / "mine.npz"), "--corpus", "flickr8k"),
        *(("rank", system, "--split", "test") for system in systems),
        *(
            ("compare_runs", *(f"{system}-{direction}" for system in systems))
            for direction in ("annotation", "search")
        ),
    ]


def in_one_step(folder: Path) -> list[Sequence[str]]:
    """Return the one command."""
    return [
        ("evaluate", "flickr8k", "--recipes", "nCCA", "Ridge")
        + ("--features", str(folder / _VECTORS / "squeezenet.npz"))
        + ("--embeddings", str(folder / _VECTORS / "mine.npz"))
    ]


class Taken(NamedTuple):
    """The seconds of a command, by the clock and of the processor."""

    clock: float
    processor: float


def seconds(commands: Sequence[Sequence[str]], folder: Path) -> list[Taken]:
    """Return the seconds of each command on a new installation with the corpus."""
    with tempfile.TemporaryDirectory() as work:
        about = {**os.environ, "DATA_DIR": work, "DATABASE_URL": f"sqlite:///{work}/phrasebox.sqlite3"}

        def run(*command: str) -> Taken:
            began, used = time.perf_counter(), _processor()
            subprocess.run(
                [sys.executable, "manage.py", *command], env=about, check=True, stdout=subprocess.DEVNULL
            )
            return Taken(time.perf_counter() - began, _processor() - used)

        run("migrate")
        run("import_corpus", "flickr8k", str(folder / _CORPUS), "--format", "flickr8k")
        return [run(*command) for command in commands]


def _processor() -> float:
    """Return the seconds of the processor that ended child processes took."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the seconds and the number of steps of both ways."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    data = Path(os.environ.get("REAL_DATA_DIR", "../shared/data"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flickr8k_with_thumbnails(data, folder)
        ways = {"a command for each step": by_steps(folder), "evaluate": in_one_step(folder)}
        measured: dict[str, list[list[Taken]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, commands in ways.items():
                measured[way].append(seconds(commands, folder))
    for way, commands in ways.items():
        clock, processor = (
            statistics.median(sum(taken[part] for taken in times) for times in measured[way])
            for part in range(2)
        )
        print(f"{way}: {len(commands)} commands, {clock:.1f} s, {processor:.1f} s of the processor")
        for number, command in enumerate(commands):
            used = statistics.median(times[number].processor for times in measured[way])
            print(f"  {command[0]}: {used:.1f} s of the processor")


if __name__ == "__main__":
    main()
