"""What the commands that train and rank share: files named by the user, progress by phase, refusals."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.formats.base import FormatError
from annotation.management.base import Bar, LogLines, progress_bar
from evaluation.comparison.provenance import DECLARATION_HELP
from evaluation.services.common import ImportRefused
from evaluation.services.features.store import is_label
from evaluation.services.systems.training import Sources
from models_core.device import CPU

#: Whose message is one line about the input. WordNetMissing is an OSError, BadRecipe, BadModel and
#: BadPicture are ValueErrors.
TRAINING_REFUSALS: tuple[type[Exception], ...] = (FormatError, ImportRefused, Busy, OSError, ValueError)


class ProgressBars:
    """Progress of phases, on a terminal a bar for each, unless `quiet`; call it as phases do."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.phase = ""
        self.bar: Bar | None = None

    def __enter__(self) -> ProgressBars:
        return self

    def __call__(self, phase: str, done: int, of: int) -> None:
        """Told by a phase how far it is."""
        if self.quiet:
            return
        if self.bar is None or phase != self.phase or of != self.bar.total:
            self.phase = phase
            if isinstance(self.bar, LogLines):
                self.bar.next_phase(what=phase, total=of)
            else:
                self.close()
                self.bar = progress_bar(what=phase, total=of)
        self.bar.update(done - int(self.bar.n))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the bar that is shown, if one is."""
        if self.bar is not None:
            self.bar.close()


def add_sources(parser: CommandParser) -> None:
    """What a training reads besides the corpus."""
    parser.add_argument(
        "--background",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="Background texts, one sentence on each line, in place of the BNC",
    )
    parser.add_argument("--words", metavar="SET", default="", help="A feature set of words, to begin with")
    parser.add_argument(
        "--layer", metavar="LAYER", default="", help="A layer whose mentions are what is said of regions"
    )
    parser.add_argument("--wordnet", type=Path, help="WordNet 3.0's noun files (default: Debian's folder)")
    add_items(parser)


def add_device(parser: CommandParser, of: str = "image kernels and KCCA") -> None:
    """Where `of` is computed."""
    parser.add_argument(
        "--device",
        default=CPU,
        help=f"Device for {of}: cuda, or one of several such as cuda:0 (default: cpu)",
    )


def add_items(parser: CommandParser) -> None:
    """What is known of a corpus's images and captions besides the corpus itself."""
    parser.add_argument(
        "--features",
        type=Path,
        metavar="SET|FILE",
        help="A feature set, or vectors of images (npy, npz, safetensors), in place of visual words",
    )
    parser.add_argument(
        "--feature-ids", type=Path, metavar="FILE", help="Names of their images in order, one on each line"
    )
    parser.add_argument("--regions", metavar="SET", default="", help="A feature set of regions of the images")
    parser.add_argument("--text", metavar="SET", default="", help="A feature set of vectors of the captions")
    parser.add_argument(
        "--lemmas",
        type=Path,
        metavar="FILE",
        help="Lemmatised captions, such as Flickr8k.lemma.token.txt",
    )


def add_trained_on(parser: CommandParser) -> None:
    """What whoever adds something from outside declares that it learned from."""
    parser.add_argument("--trained-on", metavar="TEXT", default="", help=DECLARATION_HELP)


def dropped_text(dropped: int, lines: int) -> str:
    """What was taken out of a background text."""
    return f"dropped {dropped:,} of {lines:,} lines, captions of the corpus"


def sources_of(options: dict[str, Any]) -> Sources:
    """The files that were named, as whole paths: a system remembers them."""
    features, ids, lemmas, wordnet = (
        "" if options.get(key) is None else str(options[key].resolve())
        for key in ("features", "feature_ids", "lemmas", "wordnet")
    )
    if features and is_label(str(options["features"])) and not options["features"].exists():
        features = str(options["features"])
    background = tuple(str(file.resolve()) for file in options.get("background", []))
    return Sources(
        background,
        wordnet,
        features,
        ids,
        lemmas,
        *(options.get(key, "") for key in ("regions", "words", "layer", "text")),
    )
