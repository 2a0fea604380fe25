"""METEOR of written captions, computed by its authors' Java program.

METEOR aligns a candidate with each reference by exact words, stems, synonyms and paraphrases, and uses the
best reference; its tables are part of the program: version 1.5, English, with `-norm`, as the COCO evaluation
calls it. Its input is words joined by spaces, without punctuation: it would count a full stop as a matching
word. The corpus score is computed from the items' summed statistics and is not the mean of their scores.

It needs a Java runtime (JAVA_HOME, or `java` on the PATH) and `meteor-1.5.jar` with its folder `data`: at
METEOR_JAR, or from the package pycocoevalcap. The settings read both variables and pass them to
`configure_meteor`. Without either, `MeteorMissing` is raised. Source: Denkowski and Lavie 2014.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from phrasebox.errors import PhraseboxError
from phrasebox.metrics.captioning import check_fit

JAR = "meteor-1.5.jar"
#: The numbers of an item's statistics: words of the candidate and the reference, function words of both; of
#: each of four stages matched content words of both and function words of both; chunks; matched words of
#: both.
STATISTICS = 23
#: The parameters of METEOR 1.5 for English: alpha, beta, gamma and delta of its section 2, and the weights of
#: the stages (exact words, stems, synonyms, paraphrases).
_ALPHA, _BETA, _GAMMA, _DELTA = 0.85, 0.2, 0.6, 0.75
_STAGES = np.array([1.0, 0.6, 0.8, 0.6])
_SEPARATOR = "|||"
_LEAVE_OUT = "or leave METEOR out"


class MeteorMissing(PhraseboxError):
    """METEOR cannot be computed here; one line with the remedy."""


class MeteorFailed(PhraseboxError):
    """The program ended, or its response cannot be parsed; one line with its output."""


@dataclass(frozen=True, slots=True)
class Program:
    """The paths of Java and METEOR."""

    java: Path
    jar: Path


@dataclass(frozen=True, slots=True)
class Meteor:
    """METEOR of the corpus, and of each item, shape (items,); in 0..1. `statistics` are the program's counts
    of each item, shape (items, 23), from whose sums the score of any items is computed (`meteor_of`)."""

    corpus: float
    items: NDArray[np.float64]
    statistics: NDArray[np.float64]


@dataclass(slots=True)
class _Places:
    """The configured paths; empty where not configured."""

    java_home: str = ""
    jar: str = ""


_places = _Places()


def configure_meteor(*, java_home: str = "", jar: str = "") -> None:
    """Set the paths of Java and METEOR; an empty path is searched for."""
    _places.java_home, _places.jar = java_home, jar


def find_program() -> Program:
    """Return the installed Java and METEOR; raises MeteorMissing."""
    home = _places.java_home
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    java = java or shutil.which("java")
    if java is None:
        raise MeteorMissing(
            "METEOR needs a Java runtime, and there is no 'java' in JAVA_HOME or on the PATH: install one "
            f"(Debian: default-jre-headless), {_LEAVE_OUT}"
        )
    return Program(Path(java), _jar())


def _jar() -> Path:
    named = _places.jar
    if named:
        if not Path(named).is_file():
            raise MeteorMissing(
                f"METEOR_JAR is {named!r}, but there is no such file: give the path of {JAR}, {_LEAVE_OUT}"
            )
        return Path(named).resolve()
    package = find_spec("pycocoevalcap")
    folders = package.submodule_search_locations if package else None
    candidates = [Path(folder) / "meteor" / JAR for folder in folders or ()]
    jar = next((file for file in candidates if file.is_file()), None)
    if jar is None:
        raise MeteorMissing(
            f"METEOR needs {JAR}: give its path in METEOR_JAR, install the package pycocoevalcap, "
            f"{_LEAVE_OUT}"
        )
    return jar.resolve()


def meteor(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, program: Program | None = None
) -> Meteor:
    """Score one text per item against one or more references; NaN for a corpus without items.

    Raises MeteorMissing, MeteorFailed, and ValueError if candidates and references do not match.
    """
    check_fit(candidates, references)
    if not candidates:
        return Meteor(float("nan"), np.zeros(0), np.zeros((0, STATISTICS)))
    with _running(program or find_program()) as talk:
        statistics = []
        for candidate, texts in zip(candidates, references, strict=True):
            talk.ask(["SCORE", *map(_bare, texts), _bare(candidate)])
            statistics.append(talk.answer())
        talk.ask(["EVAL", *statistics])
        scores = [talk.number() for _ in candidates]
        return Meteor(talk.number(), np.array(scores), np.array([_counts(line) for line in statistics]))


def meteor_of(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score for sums of items' statistics, shape (rows, 23), as the program computes it; shape
    (rows,). Source: Denkowski and Lavie 2014, section 2.

    >>> meteor_of(np.array([[6, 3, 2, 1, 2, 2, 1, 1, *[0] * 12, 2, 3, 3]], np.float64)).round(6).tolist()
    [0.388465]
    """
    lengths, functions = statistics[:, 0:2], statistics[:, 2:4]
    stages = statistics[:, 4:20].reshape(-1, len(_STAGES), 4)
    content, function = stages[:, :, 0:2], stages[:, :, 2:4]
    matches = ((_DELTA * content + (1 - _DELTA) * function) * _STAGES[:, None]).sum(axis=1)
    words = _DELTA * (lengths - functions) + (1 - _DELTA) * functions
    precision, recall = _quotients(matches, words).T
    mean = _quotients(precision * recall, _ALPHA * precision + (1 - _ALPHA) * recall)
    chunks, matched = statistics[:, 20], statistics[:, 21:23].mean(axis=1)
    equal = ((content + function).sum(axis=1) == lengths).all(axis=1) & (chunks == 1)
    fragments = np.where(equal, 0.0, _quotients(chunks, matched))
    return np.asarray(mean * (1 - _GAMMA * fragments**_BETA))


def _quotients(amounts: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(amounts, by, out=np.zeros(amounts.shape), where=by > 0)


def _counts(line: str) -> list[float]:
    try:
        counts = [float(part) for part in line.split()]
    except ValueError:
        counts = []
    if len(counts) != STATISTICS:
        raise MeteorFailed(f"METEOR answered {line[:80]!r} where {STATISTICS} counts were expected")
    return counts


def _bare(text: str) -> str:
    """Return the text on one line, without the program's separator."""
    return " ".join(text.replace(_SEPARATOR, " ").split())


class _Talk:
    """Exchanges lines with the program."""

    def __init__(self, process: subprocess.Popen[str], log: IO[bytes]) -> None:
        self.process = process
        self.log = log

    def ask(self, parts: Sequence[str]) -> None:
        assert self.process.stdin is not None  # opened as a pipe
        try:
            self.process.stdin.write(f" {_SEPARATOR} ".join(parts) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.failed() from None

    def answer(self) -> str:
        assert self.process.stdout is not None  # opened as a pipe
        line = self.process.stdout.readline()
        if not line.strip():
            raise self.failed()
        return line.strip()

    def number(self) -> float:
        line = self.answer()
        try:
            return float(line)
        except ValueError:
            raise MeteorFailed(f"METEOR answered {line[:80]!r} where a score was expected") from None

    def failed(self) -> MeteorFailed:
        self.process.kill()
        status = self.process.wait()
        self.log.seek(0)
        lines = self.log.read().decode("utf-8", "replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), f"status {status}")
        return MeteorFailed(f"METEOR stopped before it had scored everything: {last[:200]}")


@contextmanager
def _running(program: Program) -> Iterator[_Talk]:
    """Start the program; it is terminated at the end of the context."""
    command = [str(program.java), "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(program.jar)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*command, "-", "-", "-stdio", "-l", "en", "-norm"],
            cwd=program.jar.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
        assert process.stdin is not None and process.stdout is not None  # opened as pipes
        try:
            yield _Talk(process, log)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            with suppress(BrokenPipeError):  # what it did not read is still to be written
                process.stdin.close()
