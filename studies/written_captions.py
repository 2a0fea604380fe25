"""Generated captions for 1,000 photographs of Flickr8k, and their scores: the table of studies/RESULTS.md.

    python -m studies.written_captions --data DATA [--seeds 5] [--folder FOLDER]

DATA has the folders `flickr8k` (captions and splits) and `features` (512 numbers of each photograph, and the
names of the photographs). Everything is computed by the product's commands, in a database of its own. With
--folder, the database and the trained systems are in that folder, and the next run reuses them.

Recipe `mRNN` is trained with each seed and writes captions of the test photographs with a beam of 7 and one
of 1. Its figures are means over the seeds with the t-interval of 95 % over them. Baselines:

- `NN-caption`, with the interval over images;
- the captions of beam 7, each for the next photograph instead of its own: what remains is what a caption
  scores without its image;
- one caption for all photographs: of the five sentences that `mRNN` writes most often with a beam of 7, the
  best by each measure. The test photographs choose it, so it is a high bar.

The tables are Markdown, in per cent, followed by sentences by measure and counts of sentences.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.localization import command, say, set_up
from studies.localization import interval_text as per_cent

CORPUS, FEATURES = "flickr8k", "squeezenet"
MEASURES = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D")
BEAMS = (7, 1)
#: Number of the most frequent sentences that are tried as the one caption for all photographs.
FREQUENT = 5
#: Files of Flickr8k: captions, and the names of the photographs of each split.
CAPTIONS = "Flickr8k.token.txt"
SPLITS = tuple(f"Flickr_8k.{split}Images.txt" for split in ("train", "dev", "test"))

#: A figure by measure: value, low and high, of which the last two may be None.
Figures = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Bench:
    """The real data, and the folder of the corpus of the photographs and of the files of captions."""

    data: Path
    folder: Path

    def import_photographs(self) -> None:
        """Import the corpus of the photographs, and their features, once."""
        from annotation.models import Corpus

        if Corpus.objects.filter(name=CORPUS).exists():
            return
        names = self.data / "features" / "flickr8k_1000_names.txt"
        photographs = set(names.read_text(encoding="utf-8").split())
        source = self.folder / "corpus"
        source.mkdir(exist_ok=True)
        for name in (CAPTIONS, *SPLITS):
            lines = (self.data / "flickr8k" / name).read_text(encoding="utf-8").splitlines(keepends=True)
            chosen = (line for line in lines if line.split("#")[0].strip() in photographs)
            (source / name).write_text("".join(chosen), encoding="utf-8")
        command("import_corpus", CORPUS, source, "--format", "flickr8k")
        vectors = names.with_name("flickr8k_1000_squeezenet_fire9_512.npy")
        command("import_features", CORPUS, vectors, "--ids", names, "--name", FEATURES)

    def train(self, name: str, recipe: str, *options: object) -> None:
        """Train a system, unless it exists."""
        began = time.process_time()
        sources = ("--corpus", CORPUS, "--features", FEATURES)
        report = command("train_system", name, "--recipe", recipe, *sources, *options)
        if not report["unchanged"]:
            say(f"{name}: trained in {time.process_time() - began:.0f} s of CPU")
        for remark in report["selection"]:
            say(f"{name}: {remark}")

    def write(self, system: str, beam: int) -> str:
        """Return the name of the set of captions of the test photographs."""
        name = f"{system}-beam{beam}"
        report = command("generate_captions", system, "--name", name, "--split", "test", "--beam", beam)
        open_ended = sum(text.endswith((" a", " an", " the")) for text in self.captions(name).values())
        say(
            f"{name}: {report['captions']} captions of {report['words']:.1f} words, {report['distinct']} "
            f"different, {100 * report['in_training'] / report['captions']:.1f} % word for word a training "
            f"caption, {open_ended} that end in an article"
        )
        return name

    def captions(self, name: str) -> dict[str, str]:
        """Return the captions of a set by image."""
        from evaluation.selectors import names_of
        from evaluation.services.captions.scores import captions_by_image
        from evaluation.services.captions.sets import caption_set_named

        names = names_of(CORPUS)
        of_image, _unknown = captions_by_image(caption_set_named(name), names)
        return {names.image_name[pk]: text for pk, text in of_image.items()}

    def score(self, captions: str | Path, *options: object) -> dict[str, dict[str, Any]]:
        """Return the figures of a caption set or a file."""
        arguments = ("--split", "test", "--measures", ",".join(MEASURES), *options)
        report = command("score_captions", CORPUS, captions, *arguments)
        return {measure["measure"]: measure for measure in report["report"]["sets"][0]["measures"]}

    def score_texts(self, captions: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return the figures of captions by image."""
        file = self.folder / "captions.jsonl"
        file.write_text(
            "".join(json.dumps({"image": image, "caption": text}) + "\n" for image, text in captions.items()),
            encoding="utf-8",
        )
        return self.score(file, "--resamples", 0)


def over_seeds(label: str, reports: Sequence[Figures]) -> str:
    """Return a row of means with their t-intervals over the seeds."""
    return row(label, [per_cent([report[name]["value"] for report in reports]) for name in MEASURES])


def over_images(figures: Figures) -> Iterator[str]:
    """Yield the cells of one set of captions, with intervals over images if there are any."""
    for name in MEASURES:
        value, low, high = (figures[name][key] for key in ("value", "low", "high"))
        yield per_cent([value]) + ("" if low is None else f" ({per_cent([low])} to {per_cent([high])})")


def row(label: str, cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join((label, *cells))} |"


def run(bench: Bench, seeds: int) -> list[str]:
    """Train, write and score; return the lines of the table."""
    bench.import_photographs()
    bench.train("near", "NN-caption", "--held-out", "none")
    for seed in range(seeds):
        bench.train(f"mrnn{seed}", "mRNN", "--seed", seed)
    sets = {beam: [bench.write(f"mrnn{seed}", beam) for seed in range(seeds)] for beam in BEAMS}
    written = [bench.captions(name) for name in sets[BEAMS[0]]]
    others = [
        dict(zip(captions, [*texts[1:], texts[0]], strict=True))
        for captions in written
        for texts in [list(captions.values())]
    ]
    frequent = Counter(text for captions in written for text in captions.values()).most_common(FREQUENT)
    constant = {text: bench.score_texts(dict.fromkeys(written[0], text)) for text, _ in frequent}
    chosen = {name: max(constant, key=lambda text: constant[text][name]["value"]) for name in MEASURES}
    for name, text in chosen.items():
        say(f"the best one caption by {name}: {text!r}")
    best = {name: constant[text][name] for name, text in chosen.items()}
    return [
        row("in per cent", MEASURES),
        row("---", ["---"] * len(MEASURES)),
        *(
            over_seeds(f"`mRNN`, beam {beam}", [bench.score(name, "--resamples", 0) for name in sets[beam]])
            for beam in BEAMS
        ),
        row("`NN-caption`", list(over_images(bench.score(bench.write("near", BEAMS[0]))))),
        over_seeds(
            "the captions of beam 7, each for another image", [bench.score_texts(texts) for texts in others]
        ),
        row("one caption for all images", list(over_images(best))),
    ]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of real data")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--folder", type=Path, help="where database and systems are stored (default: nowhere)"
    )
    options = parser.parse_args()
    with set_up(options.folder) as folder:
        say("\n".join(run(Bench(options.data, folder), options.seeds)))


if __name__ == "__main__":
    main()
