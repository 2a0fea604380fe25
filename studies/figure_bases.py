"""Cases in which a figure is easily of something else than it says, each by commands from an empty folder.

    python -m studies.figure_bases [--data FOLDER] [--only queries|missing|tokens|seen|numbers]

FOLDER has the real data (REAL_DATA_DIR, or ../shared/data): Flickr8k's captions, and vectors of 512 numbers
of 1,000 of its photographs. Everything goes through `manage.py` in a temporary DATA_DIR.

- queries: two runs with the original first in 856 and 844 of Flickr8k's 1,000 test images; a graded batch of
  depth 1, of which three judges call each pair wrong. R@1 and S@1 are the runs' own shares, whatever was
  asked. Then a run with the original first in 30 of them, of which 114 wrong pairs are never judged, with
  qrels from the file of judgments.
- missing: a file of captions for the 60 images where they share most words with the others, of 125.
- tokens: the first caption of 1,000 images against the other four, as written and with " ." at the end, and
  those of Flickr30k's 1,000 validation images, cut as by the COCO evaluation and at all signs.
- seen: a system scored on its training images; vectors of another origin; the ridge chosen in five folds.
- numbers: each method that reads vectors, with vectors 1e17 and 1e-30 times as long, a column 1e4 times as
  large, and a row of zeros: the remark, or the refusal.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from phrasebox.text.tokens import tokenise

REPOSITORY = Path(__file__).resolve().parent.parent
VECTORS = "features/flickr8k_1000_squeezenet_fire9_512.npy"
NAMES = "features/flickr8k_1000_names.txt"
#: Changes of settings that make a training of seconds; nothing of what is shown depends on them.
QUICK = {
    "BRNN": "settings.epochs=1 settings.trial_epochs=1 settings.members=1 settings.size=32",
    "mRNN": "settings.epochs=1 settings.trial_epochs=1 settings.size=64 settings.word_size=64",
    "SAE": "settings.features=200 settings.weak_components=32",
    "Wsabie-AdaGrad": "settings.epochs=4 settings.trial_epochs=2",
}
METHODS = (
    ("CCA", "--features"),
    ("nCCA", "--features"),
    ("Ridge", "--features"),
    ("Wsabie-AdaGrad", "--features"),
    ("SAE", "--features"),
    ("BRNN", "--regions"),
    ("mRNN", "--features"),
)


class Server:
    """A server with its own DATA_DIR, in which commands are run one by one."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data = folder, data
        self.environment = {**os.environ, "DATA_DIR": str(folder / "data"), "PYTHONWARNINGS": "ignore"}
        self.environment.pop("DATABASE_URL", None)
        self.run("migrate", "--verbosity", "0")

    def run(self, *arguments: object) -> tuple[int, str]:
        """Return exit status and output of a command of `manage.py`."""
        done = subprocess.run(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.strip()

    def do(self, *arguments: object) -> str:
        """Return the output of a command that must succeed."""
        status, output = self.run(*arguments)
        if status:
            raise SystemExit(f"{' '.join(map(str, arguments))}: {output}")
        return output

    def json(self, *arguments: object) -> dict[str, Any]:
        """Return the JSON output of a command."""
        result: dict[str, Any] = json.loads(self.do(*arguments, "--json").splitlines()[-1])
        return result

    def write(self, name: str, lines: Iterable[str]) -> Path:
        """Write a file of lines in the temporary folder."""
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path


def captions_of_flickr8k(data: Path) -> dict[str, list[str]]:
    """Captions by the name of their image."""
    captions = defaultdict(list)
    for line in (data / "flickr8k" / "Flickr8k.token.txt").read_text().splitlines():
        caption, text = line.split("\t", 1)
        captions[caption.split("#")[0]].append(text)
    return captions


def test_images(data: Path) -> list[str]:
    """Names of Flickr8k's 1,000 test images."""
    return (data / "flickr8k" / "Flickr_8k.testImages.txt").read_text().split()


def queries(server: Server) -> list[list[Any]]:
    """Compare two runs whose originals are all at rank 1 or 2, and a run that is nearly always wrong."""
    images = test_images(server.data)
    flickr8k = ("flickr8k", server.data / "flickr8k", "--format", "flickr8k")
    server.do("import_corpus", *flickr8k, "--leave-unused")
    rng = np.random.default_rng(0)
    rows: list[list[Any]] = []
    for batch, shares, unjudged in (("good", (856, 844), 0), ("wrong", (30,), 114)):
        runs, pairs = [], set()
        for number, first in enumerate(shares):
            right = set(rng.permutation(len(images))[:first].tolist())
            lines = []
            for index, image in enumerate(images):
                other = images[(index + 1 + number) % len(images)]
                ranked = [f"{image}#0", f"{other}#0"] if index in right else [f"{other}#0", f"{image}#0"]
                if index not in right:
                    pairs.add((image, ranked[0]))
                lines += [
                    f"{image} Q0 {item} {rank} {9 - rank} run" for rank, item in enumerate(ranked, start=1)
                ]
            run = f"{batch}{number}"
            server.do("import_run", run, server.write(f"{run}.trec", lines), "--corpus", "flickr8k")
            runs.append(run)
        judged = sorted(pairs)[unjudged:]
        table = server.write(
            f"{batch}.csv",
            ["image,caption,judge,grade"] + [f"{i},{c},{j},1" for i, c in judged for j in ("a", "b", "c")],
        )
        server.do(
            "import_judgments",
            "flickr8k",
            table,
            "--format",
            "table",
            "--name",
            f"{batch}-answers",
            "--scale",
            "1-4",
        )
        if unjudged:
            freezing = ["freeze_qrels", f"{batch}-qrels", "--corpus", "flickr8k"]
            server.do(*freezing, "--judgments", f"{batch}-answers", "--queries", f"run:{runs[0]}")
        else:
            opening = ["open_batch", batch, "--corpus", "flickr8k", "--runs", *runs, "--tasks", "graded"]
            server.do(*opening, "--depth", 1, "--simulated", "--begin", "--reuse")
            server.do("simulate_judges", batch, "--recorded", f"{batch}-answers", "--patience", 1)
            server.do("settle_batch", batch, f"{batch}-qrels")
        for run, first in zip(runs, shares, strict=True):
            scores = server.do("score_run", run, "--qrels", f"{batch}-qrels", "--measures", "R@1", "S@1")
            rows.append([f"original first in {first} of 1,000", scores])
    return rows


def missing(server: Server) -> list[list[Any]]:
    """The first captions of 125 images against the other four; then those of the 60 surest alone."""
    captions = captions_of_flickr8k(server.data)
    names = (server.data / NAMES).read_text().split()
    images = [name for name in test_images(server.data) if name in set(names)]
    corpus_of_the_others(server, "some", images, captions)

    def agreement(image: str) -> float:
        first, *others = (set(tokenise(text)) for text in captions[image])
        return len(first & set().union(*others)) / len(first)

    surest = sorted(images, key=agreement, reverse=True)[:60]
    everything = caption_file(server, "all.jsonl", {image: captions[image][0] for image in images})
    some = caption_file(server, "surest.jsonl", {image: captions[image][0] for image in surest})
    score = ["score_captions", "some"]
    options = ["--measures", "CIDEr-D", "--resamples", 0]
    return [
        ["all 125", server.run(*score, everything, *options)[1]],
        ["the 60 surest", server.run(*score, some, *options)[1]],
        ["the 60 surest, --missing worst", server.run(*score, some, *options, "--missing", "worst")[1]],
    ]


def tokens(server: Server) -> list[list[Any]]:
    """First captions against the other four: with and without a final stop, and with tokens of two kinds."""
    captions, images = captions_of_flickr8k(server.data), test_images(server.data)
    corpus_of_the_others(server, "four", images, captions)
    bare = {image: captions[image][0].removesuffix(" .") for image in images}
    options = ["--measures", "BLEU-1", "CIDEr-D", "METEOR", "--resamples", 0]
    rows = []
    for title, name, end in (("without a stop", "bare", ""), ('with " ." at the end', "stop", " .")):
        file = caption_file(server, f"{name}.jsonl", {image: bare[image] + end for image in images})
        rows.append([title, server.do("score_captions", "four", file, *options)])
    validation = json.loads((server.data / "flickr30k" / "validation.json").read_text())
    corpus_of_the_others(server, "validation", list(validation), {i: c[:5] for i, c in validation.items()})
    file = caption_file(server, "validation.jsonl", {image: texts[0] for image, texts in validation.items()})
    for cut in ("ptb", "own"):
        scores = server.do("score_captions", "validation", file, *options, "--tokens", cut)
        rows.append([f"Flickr30k's validation images, --tokens {cut}", scores])
    return rows


def corpus_of_the_others(
    server: Server, name: str, images: list[str], captions: dict[str, list[str]]
) -> None:
    """A corpus that has all captions of these images but the first."""
    path = server.folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        writer.writerows([image, text] for image in images for text in captions[image][1:])
    server.do("import_corpus", name, path, "--format", "csv")


def caption_file(server: Server, name: str, captions: dict[str, str]) -> Path:
    """A file with a caption of each image, as `score_captions` takes it."""
    return server.write(name, (json.dumps({"image": i, "caption": text}) for i, text in captions.items()))


def corpus_with_vectors(server: Server, name: str) -> tuple[list[str], np.ndarray]:
    """The photographs that have vectors, as a corpus of three splits, and the set `network` of it."""
    captions = captions_of_flickr8k(server.data)
    images, vectors = (server.data / NAMES).read_text().split(), np.load(server.data / VECTORS)
    splits = ["train"] * 600 + ["val"] * 200 + ["test"] * 200
    with (path := server.folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption", "split"])
        for image, split in zip(images, splits, strict=True):
            writer.writerows([image, text, split] for text in captions[image])
    server.do("import_corpus", name, path, "--format", "csv")
    import_vectors(server, name, "network", images, vectors, "--network", "squeezenet")
    return images, vectors


def import_vectors(
    server: Server, corpus: str, name: str, ids: list[str], vectors: np.ndarray, *options: str, **arrays: Any
) -> tuple[int, str]:
    """A feature set, from an npz file."""
    path = server.folder / f"{name}.npz"
    np.savez(path, vectors=vectors, ids=np.array(ids), **arrays)
    return server.run("import_features", corpus, path, "--name", name, *options)


def seen(server: Server) -> list[list[Any]]:
    """Show scores on training images, vectors from elsewhere, and a setting at the end of its grid."""
    images, vectors = corpus_with_vectors(server, "thousand")
    server.do("train_system", "ncca", "--recipe", "nCCA", "--corpus", "thousand", "--features", "network")
    server.do("rank", "ncca", "--split", "train", "--name", "trained")
    server.do("freeze_qrels", "own", "--corpus", "thousand", "--protocol", "one caption")
    noise = np.random.default_rng(0).standard_normal(vectors.shape).astype(np.float32)
    import_vectors(server, "thousand", "elsewhere", images, noise, "--network", "noise")
    scoring = ["score_run", "trained-annotation", "--qrels", "own", "--split", "train", "--measures", "R@10"]
    folds = ["cross_validate", "thousand", "CCA", "--features", "network"]
    return [
        ["R@10 on training images", server.run(*scoring)[1]],
        [
            "vectors of another network",
            server.run("rank", "ncca", "--split", "test", "--features", "elsewhere")[1],
        ],
        ["ridge of plain CCA in five folds", server.run(*folds)[1]],
    ]


def numbers(server: Server) -> list[list[Any]]:
    """Show what training says about numbers out of range, method by method."""
    images, vectors = corpus_with_vectors(server, "perturbed")
    column, zeros = vectors.copy(), vectors.copy()
    column[:, 7] *= 1e4
    zeros[3] = 0
    sets = {
        "as they are": vectors,
        "1e17 times": vectors.astype(np.float64) * 1e17,
        "1e-30 times": vectors.astype(np.float64) * 1e-30,
        "a column 1e4 times": column,
        "a row of zeros": zeros,
    }
    captions = captions_of_flickr8k(server.data)
    texts = [f"w{n},{captions[image][0].replace(',', ' ')}" for n, image in enumerate(images[:200])]
    weak = server.write("weak.csv", ["id,title", *texts])
    server.do("import_weak_collection", "weak", weak)
    rows = []
    for number, (title, changed) in enumerate(sets.items()):
        name = f"set{number}"
        boxes = np.tile([1.0, 1.0, 32.0, 32.0], (len(images), 1))
        outcomes = {"--features": import_vectors(server, "perturbed", name, images, changed)}
        import_vectors(server, "weak", name, [f"w{n}" for n in range(200)], changed[:200])
        regions = import_vectors(
            server, "perturbed", f"{name}-regions", images, changed, "--kind", "region", boxes=boxes
        )
        outcomes["--regions"] = regions
        for recipe, option in METHODS:
            status, output = outcomes[option]
            if not status:
                features = name if option == "--features" else f"{name}-regions"
                command = ["train_system", f"{recipe}{number}", "--recipe", recipe, "--corpus", "perturbed"]
                command += [option, features]
                command += ["--changes", *QUICK[recipe].split()] if recipe in QUICK else []
                command += ["--weak", "weak"] if recipe == "SAE" else []
                status, output = server.run(*command)
            rows.append([title, recipe, "refused" if status else "trained", output])
    return rows


SECTIONS = {"queries": queries, "missing": missing, "tokens": tokens, "seen": seen, "numbers": numbers}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = os.environ.get("REAL_DATA_DIR") or REPOSITORY.parent / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(usual))
    parser.add_argument("--only", choices=SECTIONS, action="append")
    options = parser.parse_args()
    if not (options.data / VECTORS).exists():
        raise SystemExit(f"real data absent: no file {options.data / VECTORS} (--data names another folder)")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), options.data.resolve())
        for name in options.only or SECTIONS:
            for *titles, output in SECTIONS[name](server):
                print(f"== {name}: {', '.join(map(str, titles))} ==\n{output}\n", flush=True)


if __name__ == "__main__":
    main()
