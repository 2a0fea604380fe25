"""How far judges agree within a set of judgments, or how far two sets of judgments do.

    python manage.py agreement FILE --format flickr8k-expert
    python manage.py agreement FILE --format flickr8k-expert --against FILE --against-format flickr8k-crowd
    python manage.py agreement --corpus flickr8k --judgments expert --against-judgments crowd

A set is a file, or judgments that were imported. Of one set the command prints Krippendorff's alpha at
four levels, Fleiss' kappa, and, where the set names its judges, Cohen's kappa of every two and each
judge beside the consensus. Of two it cuts their mean answers at thresholds and prints Cohen's kappa
of every two cuts. Intervals are bootstrapped over images (keywords, if these are judged); --csv and
--latex give the coefficients, or the table of cuts. Nothing is written.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.common.plain_text import plain_table
from annotation.formats.base import FormatError
from annotation.management.base import with_progress
from evaluation.agreement.estimates import AgreementError, Estimate
from evaluation.agreement.summary import (
    AgreementBetween,
    AgreementWithin,
    Resampling,
    agreement_between,
    agreement_within,
)
from evaluation.formats import JUDGMENT_FORMATS, JudgedPair
from evaluation.formats.figure_basis import FigureBasis
from evaluation.formats.figure_tables import Table
from evaluation.management.base import TableCommand
from evaluation.selectors import judged_pairs, judgment_set, names_of
from evaluation.services.judgments.importing import KEYWORD_FORMATS


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a list of numbers; write them as 4,3.6,3") from None


class Command(TableCommand):
    help = (
        "Measure agreement within a set of judgments, or between two sets. Sets are files or imported "
        "judgments."
    )
    refusals = (*TableCommand.refusals, FormatError, AgreementError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        known = ", ".join(JUDGMENT_FORMATS.keys())
        parser.add_argument("file", type=Path, nargs="?", help="The judgments, a file or its folder")
        parser.add_argument("--format", help=f"One of {known} (default: table)")
        parser.add_argument(
            "--repeats",
            choices=("refuse", "answers"),
            default="refuse",
            help="If a pair occurs twice in a file that names no judges: refuse the file, or count two "
            "answers (default: refuse)",
        )
        parser.add_argument(
            "--against", type=Path, metavar="FILE", help="A second set of judgments of the same pairs"
        )
        parser.add_argument(
            "--against-format", metavar="FORMAT", help="Format of the second set (default: table)"
        )
        parser.add_argument("--corpus", help="Corpus of imported judgments")
        parser.add_argument(
            "--judgments", metavar="NAME", help="Name of imported judgments, instead of a file"
        )
        parser.add_argument(
            "--against-judgments",
            metavar="NAME",
            help="Name of a second set of imported judgments, instead of a file",
        )
        parser.add_argument(
            "--thresholds", type=_numbers, default=(), help="Thresholds for the first set, such as 4,3.6,3"
        )
        parser.add_argument(
            "--against-thresholds", type=_numbers, default=(), help="Thresholds for the second set"
        )
        parser.add_argument(
            "--unjudged-is-no",
            action="store_true",
            help="Give pairs that the second set lacks its lowest answer",
        )
        parser.add_argument(
            "--resamples",
            type=int,
            default=1000,
            help="Bootstrap resamples for intervals; 0 for no intervals",
        )
        parser.add_argument(
            "--level", type=float, default=0.95, help="Confidence level of the intervals (default: 0.95)"
        )
        parser.add_argument("--seed", type=int, default=0, help="Seed of the resamples (default: 0)")

    def report(self, **options: Any) -> dict[str, Any]:
        sets = [
            _Source("FILE", options["file"], options["format"], options["judgments"], "judgments"),
            _Source(
                "--against FILE",
                options["against"],
                options["against_format"],
                options["against_judgments"],
                "against-judgments",
            ),
        ]
        first, second = sets
        if not first:
            raise CommandError("no judgments are named; give a file, or --corpus and --judgments")
        if options["corpus"] and not any(one.name for one in sets):
            raise CommandError("--corpus needs --judgments or --against-judgments; give one")
        repeats = options["repeats"] == "answers"
        pairs = first.read(options["corpus"], repeats=repeats)
        unit = first.unit(options["corpus"])
        resampling = Resampling(options["resamples"], options["level"], options["seed"])
        self.found: AgreementWithin | AgreementBetween
        if not second:
            if options["thresholds"] or options["against_thresholds"] or options["unjudged_is_no"]:
                raise CommandError("thresholds compare two sets; give the second with --against")
            self.found = agreement_within(pairs, resampling, unit=unit)
        else:
            self.found = agreement_between(
                pairs,
                second.read(options["corpus"], repeats=repeats),
                resampling,
                rows=options["thresholds"],
                columns=options["against_thresholds"],
                unjudged_is_no=options["unjudged_is_no"],
                unit=unit,
            )
        self.basis = FigureBasis(
            cases="pairs",
            counted=self.found.pairs if isinstance(self.found, AgreementWithin) else self.found.common,
            out_of=self.found.pairs,
            pool=" and ".join(one.called for one in sets if one),
        )
        found = (
            _within_json(self.found) if isinstance(self.found, AgreementWithin) else _between_json(self.found)
        )
        return {**found, "basis": self.basis.as_dict()}

    def text(self, report: dict[str, Any]) -> str:
        found = (
            _within_text(self.found) if isinstance(self.found, AgreementWithin) else _between_text(self.found)
        )
        return "\n".join([found, *self.basis.lines()])

    def table(self, report: dict[str, Any]) -> Table:
        return (
            _within_table(self.found, self.basis)
            if isinstance(self.found, AgreementWithin)
            else _between_table(self.found, self.basis)
        )


@dataclass(frozen=True, slots=True)
class _Source:
    """One set as it was named: a file and its format, or the name under which it was imported."""

    word: str
    path: Path | None
    format: str | None
    name: str | None
    option: str

    def __post_init__(self) -> None:
        if self.name and (self.path or self.format):
            raise CommandError(f"{self.word} and --{self.option}: use only one of them")
        if self.format and not self.path:
            raise CommandError(
                f"--{self.option.replace('judgments', 'format')} needs {self.word}; give it too"
            )

    def __bool__(self) -> bool:
        return bool(self.path or self.name)

    @property
    def called(self) -> str:
        """Which judgments these are, in words."""
        return f"judgments {self.name or (self.path.name if self.path else '')}"

    def unit(self, corpus: str | None) -> str:
        """What the set's queries are, which intervals draw."""
        stored = judgment_set(corpus, self.name).format if corpus and self.name else self.format
        return "keyword" if stored in KEYWORD_FORMATS else "image"

    def read(self, corpus: str | None, *, repeats: bool) -> list[JudgedPair]:
        if self.path:
            reader = JUDGMENT_FORMATS.get(self.format or "table")
            found = (reader.counting_repeats() if repeats else reader).read(self.path)
            return list(with_progress(found, what=self.path.name))
        if not corpus:
            raise CommandError(f"--{self.option} {self.name}: give its --corpus")
        assert self.name  # a source without path and name is not read
        chosen = judgment_set(corpus, self.name)
        found = judged_pairs(chosen, names_of(corpus))
        return list(with_progress(found, what=self.name, total=chosen.pair_count))


def _within_json(found: AgreementWithin) -> dict[str, Any]:
    return {
        "pairs": found.pairs,
        "queries": found.queries,
        "answers": found.answers,
        "answers_per_pair": [found.fewest, found.most],
        "ties": found.ties,
        "alpha": {level: asdict(value) for level, value in found.alpha.items()},
        "fleiss": asdict(found.fleiss),
        "cohen": [{"judges": list(names), **asdict(value)} for names, value in found.cohen.items()],
        "judges": [asdict(judge) for judge in found.judges],
        "no_judges": found.no_judges,
    }


def _between_json(found: AgreementBetween) -> dict[str, Any]:
    return {
        "pairs": found.pairs,
        "common": found.common,
        "kappa": [
            {"threshold": row, "against_threshold": column, **asdict(value)}
            for row, line in zip(found.sweep.rows, found.sweep.kappa, strict=True)
            for column, value in zip(found.sweep.columns, line, strict=True)
        ],
        "best": None
        if found.best is None or found.sweep.best is None
        else {
            "threshold": found.sweep.best[0],
            "against_threshold": found.sweep.best[1],
            "precision": asdict(found.best.precision),
            "recall": asdict(found.best.recall),
            "f1": asdict(found.best.f1),
        },
    }


def _within_table(found: AgreementWithin, basis: FigureBasis) -> Table:
    """Every coefficient with its interval."""
    named = {f"Krippendorff's alpha, {level}": value for level, value in found.alpha.items()}
    named["Fleiss' kappa"] = found.fleiss
    named |= {f"Cohen's kappa, {a} and {b}": value for (a, b), value in found.cohen.items()}
    return Table(
        ["coefficient", "value", "low", "high", "pairs", "reason"],
        [[name, one.value, one.low, one.high, one.items, one.reason] for name, one in named.items()],
        basis=basis,
    )


def _between_table(found: AgreementBetween, basis: FigureBasis) -> Table:
    """Kappa of every two cuts, a row for each of the first set's."""
    return Table(
        ["kappa", *(f">= {column:.3g}" for column in found.sweep.columns)],
        [
            [f">= {row:.3g}", *(value.value for value in line)]
            for row, line in zip(found.sweep.rows, found.sweep.kappa, strict=True)
        ],
        basis=basis,
    )


def _line(name: str, value: Estimate) -> list[Any]:
    if value.value is None:
        return [name, "undefined", "", value.items, value.reason]
    interval = "" if value.low is None else f"{value.low:.3f} to {value.high:.3f}"
    return [name, f"{value.value:.3f}", interval, value.items, value.reason]


_HEAD = ["", "value", "interval", "pairs", ""]


def _within_text(found: AgreementWithin) -> str:
    numbers = f"{found.fewest}" if found.fewest == found.most else f"{found.fewest} to {found.most}"
    counted = (
        f"{found.answers:,} answers to {found.pairs:,} pairs of {found.queries:,} queries, {numbers} a "
        f"pair; {found.ties:,} pairs have no majority answer."
    )
    parts = [
        counted,
        plain_table(
            _HEAD,
            [
                *(_line(f"Krippendorff's alpha, {level}", value) for level, value in found.alpha.items()),
                _line("Fleiss' kappa", found.fleiss),
            ],
        ),
    ]
    if not found.judges:
        return "\n\n".join([*parts, f"No kappa of two judges: {found.no_judges}."])
    parts.append(
        plain_table(
            _HEAD, [_line(f"Cohen's kappa, {a} and {b}", value) for (a, b), value in found.cohen.items()]
        )
    )
    rows = [[judge.name, judge.answers, judge.with_consensus] for judge in found.judges]
    parts.append(plain_table(["judge", "answers", "as the consensus (Dawid and Skene)"], rows))
    return "\n\n".join(parts)


def _between_text(found: AgreementBetween) -> str:
    head = ["kappa", *(f">= {column:.3g}" for column in found.sweep.columns)]
    rows = [
        [
            f">= {row:.3g}",
            *("undefined" if value.value is None else f"{value.value:.3f}" for value in line),
        ]
        for row, line in zip(found.sweep.rows, found.sweep.kappa, strict=True)
    ]
    parts = [f"{found.common:,} of {found.pairs:,} pairs are in both sets.", plain_table(head, rows)]
    if found.best is not None and found.sweep.best is not None:
        row, column, _ = found.sweep.best
        best = found.sweep.kappa[found.sweep.rows.index(row)][found.sweep.columns.index(column)]
        parts.append(
            f"Best at {row:.3g} and {column:.3g}; taking the first set as the truth, the second has\n"
            + plain_table(
                _HEAD,
                [
                    _line("Cohen's kappa", best),
                    _line("precision", found.best.precision),
                    _line("recall", found.best.recall),
                    _line("F1", found.best.f1),
                ],
            )
        )
    return "\n\n".join(parts)
