"""`manage.py word_similarity FOLDER [--wordnet FOLDER]`: Figure 3 of Hodosh et al., printed and ours.

    python manage.py word_similarity DATA/flickr8k

Reads Flickr8k's captions as written and as their authors lemmatised them; no database. Tagging 30,000
captions takes most of its time, about half a minute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.plain_text import plain_table
from annotation.formats.base import FormatError
from annotation.formats.flickr8k import Flickr8k
from annotation.management.base import with_progress
from evaluation.formats.figure_basis import FigureBasis, basis_from_dict
from evaluation.formats.figure_tables import Table
from evaluation.management.base import TableCommand
from evaluation.reproduction.evidence import LEMMAS
from evaluation.reproduction.figure3 import (
    PRINTED_FIGURE3,
    SIMILAR_WORDS_SHOWN,
    Figure3,
    make_figure3,
    tagged,
)
from models_core.features.text.lemmas import Lemmatiser
from models_core.features.text.wordnet import DEBIAN_FOLDER, WordNet, WordNetMissing


class Command(TableCommand):
    help = (
        "Compute the word similarities of Hodosh et al. 2013, Figure 3, on Flickr8k's training captions, "
        "and print them next to the published ones."
    )
    refusals = (*TableCommand.refusals, FormatError, WordNetMissing, OSError, ValueError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, help=f"Flickr8k's text files, with {LEMMAS}")
        parser.add_argument(
            "--wordnet",
            type=Path,
            help=f"WordNet 3.0's noun files (default: {DEBIAN_FOLDER}; without them Lin's column is empty)",
        )

    def report(self, **options: Any) -> dict[str, Any]:
        wordnet, why = _wordnet(options["wordnet"])
        written = {r.id: r for r in Flickr8k().read(options["folder"]) if r.split == "train"}
        if not written:
            raise FormatError(
                "names no training images", file=options["folder"], expected="Flickr_8k.trainImages.txt"
            )
        lemmas = {r.id: r for r in Flickr8k().read(options["folder"] / LEMMAS) if r.id in written}
        for key, record in written.items():
            if key not in lemmas or len(lemmas[key].captions) != len(record.captions):
                raise FormatError(
                    f"has too few captions of {record.filename}",
                    file=options["folder"] / LEMMAS,
                    expected="those of every image",
                )
        pairs = [(record, lemmas[key]) for key, record in written.items()]
        words = tagged(with_progress(pairs, what="images tagged", total=len(pairs)), Lemmatiser())
        basis = FigureBasis(
            cases="images",
            counted=len(pairs),
            out_of=len(pairs),
            pool="captions of Flickr8k's training images",
            protocol="Hodosh et al. 2013, Figure 3",
        )
        self.figure = make_figure3(words, wordnet, why_no_wordnet=why)
        return {**_as_json(self.figure), "basis": basis.as_dict()}

    def table(self, report: dict[str, Any]) -> Table:
        head = ["similarity", "word", "similar", "printed", "ours", "within", "our rank", "remark"]
        rows = [
            [
                *(entry["column"], *entry["row"].split(", "), entry["printed"], entry["ours"]),
                {True: "yes", False: "no", None: ""}[entry["within"]],
                entry["place"],
                entry.get("why", ""),
            ]
            for entry in report["neighbours"]
        ]
        return Table(head, rows, places={"printed": 2}, basis=basis_from_dict(report["basis"]))

    def remarks(self, report: dict[str, Any]) -> str:
        sizes = plain_table(
            ["vocabulary", "printed", "ours"],
            [[cell["row"], int(cell["printed"]), int(cell["ours"])] for cell in report["sizes"]],
        )
        counted = "\n".join(
            f"{column}: {own['within']} of {own['words']} within 0.02, {own['found']} in our first "
            f"{SIMILAR_WORDS_SHOWN}"
            for column, own in report["columns"].items()
        )
        lists = "\n".join(
            f"{column}, {word}: " + ", ".join(f"{other} {value:.2f}" for other, value in own)
            for column, words in report["ours"].items()
            for word, own in words.items()
        )
        return f"{sizes}\n\n{counted}\n\nOur own lists\n{lists}"


def _wordnet(folder: Path | None) -> tuple[WordNet | None, str]:
    """The WordNet that was named, or the installed one; why not, where there is none."""
    if folder is not None:
        return WordNet(folder), ""
    try:
        return WordNet(), ""
    except WordNetMissing as missing:
        return None, str(missing)


def _as_json(found: Figure3) -> dict[str, Any]:
    return {
        "neighbours": [
            {**n.cell.as_json(), "within": n.cell.within, "place": n.place} for n in found.neighbours
        ],
        "columns": {
            column: {
                "words": sum(map(len, PRINTED_FIGURE3[column].values())),
                "within": found.within(column),
                "found": found.found(column),
            }
            for column in PRINTED_FIGURE3
            if column in found.ours
        },
        "ours": found.ours,
        "sizes": [cell.as_json() for cell in found.sizes],
    }
