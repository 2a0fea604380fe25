"""`manage.py freeze_qrels NAME --corpus C (--judgments J | --protocol P)`: what is relevant, frozen.

    python manage.py freeze_qrels hodosh --corpus flickr8k --judgments flickr8k-crowd
    python manage.py freeze_qrels coco --corpus coco --protocol any-of-five --split test
    python manage.py freeze_qrels sits --corpus coco --judgments cxc-sits --queries run:clip --relevant-from 3

The first from judgments, under a rule: of votes, or of grades, whose gains are kept for nDCG. The second
without any: each image's own captions are its originals, and the protocol says which captions take part.
Either for all images, or for those of a split, a fold, a file or a run. Figures are over the queries that
were asked: a batch stores its own; of judgments from files, name them by --queries or --split. Each change
makes a new version; `score_run --qrels hodosh:1` still finds the first.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.common.locks import Busy
from annotation.formats.base import FormatError
from annotation.management.base import ReportCommand
from evaluation.comparison.query_sets import queries_named
from evaluation.comparison.subsets import BadSubset
from evaluation.management.base import add_queries, add_subset, queries_text, subset_of
from evaluation.management.relevance import add_relevance, relevance_of
from evaluation.metrics.protocols import PROTOCOLS
from evaluation.relevance.grades import GRADED_RULES, MEAN_GRADE
from evaluation.relevance.qrels import MAJORITY, RELEVANCE_RULES
from evaluation.relevance.scales import BadScale
from evaluation.services.common import ImportRefused
from evaluation.services.judgments.freezing import freeze_protocol, freeze_qrels


class Command(ReportCommand):
    help = (
        "Freeze judgments, or a corpus's originals, as qrels. If the newest version is the same, nothing "
        "changes."
    )
    refusals = (
        *ReportCommand.refusals,
        ImportRefused,
        Busy,
        OSError,
        BadSubset,
        BadScale,
        FormatError,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Name of the qrels")
        parser.add_argument("--corpus", required=True, help="Their corpus")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--judgments", help="Name of imported or collected judgments")
        source.add_argument(
            "--protocol",
            help=f"Freeze originals only, without judgments, under one of: {', '.join(PROTOCOLS)}",
        )
        votes, grades = ", ".join(RELEVANCE_RULES.keys()), ", ".join(GRADED_RULES.keys())
        parser.add_argument(
            "--rule",
            help=f"Relevance rule. For votes, one of: {votes} (default: {MAJORITY.name}); for grades from "
            f"1 to 4, one of: {grades} (default: {MEAN_GRADE.name})",
        )
        add_relevance(parser)
        parser.add_argument(
            "--without-originals",
            action="store_true",
            help="With --judgments: an original counts only as it was judged",
        )
        parser.add_argument(
            "--caption", type=int, help="With --protocol: which caption of each image, from 0"
        )
        add_queries(parser)
        add_subset(parser)

    def report(self, **options: Any) -> dict[str, Any]:
        name, corpus = options["name"], options["corpus"]
        subset = subset_of(corpus, options)
        if options["protocol"] is not None:
            _refuse(
                options,
                ("rule", "without_originals", "scale", "relevant_from", "gains", "median", "queries"),
                "--protocol",
            )
            made = freeze_protocol(
                name=name,
                corpus=corpus,
                protocol=options["protocol"],
                number=options["caption"],
                subset=subset,
            )
        else:
            _refuse(options, ("caption",), "--judgments")
            made = freeze_qrels(
                name=name,
                corpus=corpus,
                judgments=options["judgments"],
                relevance=relevance_of(options),
                subset=subset,
                queries=queries_named(corpus, options["queries"]),
            )
        return asdict(made)

    def show(self, report: dict[str, Any]) -> str:
        end = "already exists, nothing changed" if report["unchanged"] else "frozen"
        by_rule = ", ".join(f"{rule} {number}" for rule, number in report["by_rule"].items())
        outside = f", {report['left_out']} pairs outside left out" if report["left_out"] else ""
        judged = (
            f"{report['relevant']} of {report['rows']} pairs are relevant, {report['unjudged']} of them "
            f"unjudged originals{' (' + report['subset'] + outside + ')' if report['subset'] else ''}\n"
            f"queries: {queries_text(report['asked'], report['queries'])}{_of_batch(report)}\n"
            f"relevant by rule: {by_rule}"
        )
        own = f"{report['rows']} original pairs of {report['queries']} images ({report['pool']})"
        return (
            f"{own if report['pool'] else judged}\n"
            f"qrels {report['qrels']!r} version {report['version']} {end} ({report['settings']})\n"
            f"digest {report['digest']}"
        )


def _of_batch(report: dict[str, Any]) -> str:
    """How much of a batch was judged."""
    if report["pairs_asked"] is None:
        return ""
    return f"; {report['pairs_judged']} of the {report['pairs_asked']} pairs asked have enough answers"


def _refuse(options: dict[str, Any], names: tuple[str, ...], other: str) -> None:
    """CommandError for an option that means nothing beside `other`."""
    for name in names:
        if options[name] not in (None, False, ""):
            raise CommandError(f"--{name.replace('_', '-')} cannot be used with {other}; leave one out")
