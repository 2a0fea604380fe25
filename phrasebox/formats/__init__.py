"""Runs, qrels, judgments, scores and embeddings in files.

TREC: `read_run`, `write_run`, `read_qrels`, `write_qrels`; `as_trec_eval` prints figures as trec_eval does.
Judgments: `read_judgments`, one `JudgedPair` at a time. Arrays with ids (npz, npy, safetensors), mapped and
never unpickled: `read_scores`; `read_embeddings` of one side, `read_sides` of both, `scores_of` two sides.
A file that cannot be read is a `FormatError`, which says in one line where and what was expected.

>>> write_qrels("made.qrels", [("a.jpg", "a.jpg#0", 1), ("a.jpg", "b.jpg#0", 0)])
2
>>> read_qrels("made.qrels")
{'a.jpg': {'a.jpg#0': 1, 'b.jpg#0': 0}}
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from phrasebox.formats.base import JUDGMENT_FORMATS
from phrasebox.formats.embeddings import Embeddings, read_embeddings, read_sides, scores_of
from phrasebox.formats.scores import ScoreMatrix, read_scores
from phrasebox.formats.trec import TrecRun as Run
from phrasebox.formats.trec import as_trec_eval, read_qrels, read_run, write_qrels, write_run
from phrasebox.registry import discover
from phrasebox.relevance.grades import JudgedPair
from phrasebox.text_files import FormatError

__all__ = [
    "JUDGMENT_FORMATS",
    "Embeddings",
    "FormatError",
    "JudgedPair",
    "Run",
    "ScoreMatrix",
    "as_trec_eval",
    "read_embeddings",
    "read_judgments",
    "read_qrels",
    "read_run",
    "read_scores",
    "read_sides",
    "scores_of",
    "write_qrels",
    "write_run",
]


discover(sys.modules[__name__])


def read_judgments(path: Path | str, format: str = "table") -> Iterator[JudgedPair]:
    """Yield the judged pairs of a file, each with all its answers.

    `format` is a key of JUDGMENT_FORMATS; "table" is CSV or TSV with `query` and `document` (or `image` and
    `caption`), and `grade` with or without `judge`, or `yes` and `no`. Raises UnknownName for another format,
    listing the existing ones, and FormatError when an invalid line is reached.
    """
    return JUDGMENT_FORMATS.get(format).read(Path(path))
