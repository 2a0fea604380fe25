"""`manage.py score_run RUN --qrels Q [--folds N] [--measures M,M] [--json|--csv|--latex]`: figures.

    python manage.py score_run kcca --qrels hodosh --measures R@1,R@10,"median rank",S@10
    python manage.py score_run clip --qrels coco --folds 5
    python manage.py score_run tri5-annotation --qrels pooled --split test.txt --per-query tri5.csv

Beside each figure: what it would be with unjudged items at their best, the share of the top k that
was judged, and how many queries have a value. With folds, figures are means over equal parts of the
images, each ranked apart; of COCO's 5,000 images five are what is called "1k". Nothing is written.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evaluation.comparison.comparisons import score_run, table_of_scores
from evaluation.formats.figure_tables import Table
from evaluation.management.base import ScoringCommand
from evaluation.selectors import run_named, snapshot_named


class Command(ScoringCommand):
    help = "Score a run under frozen qrels."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("run", help="The run")
        parser.add_argument(
            "--folds", type=int, help="Split the images into this many equal folds, and average"
        )

    def report(self, **options: Any) -> dict[str, Any]:
        run, snapshot = run_named(options["run"]), snapshot_named(options["qrels"])
        how = self.scoring_options(snapshot, options)
        found = score_run(run, snapshot, options["measures"], options["folds"], **how)
        self.write_values([run], snapshot, options, how)
        return found

    def table(self, report: dict[str, Any]) -> Table:
        return table_of_scores(report)

    def remarks(self, report: dict[str, Any]) -> str:
        which = "; ".join(filter(None, [report["pool"], report["subset"]]))
        whose = f"{report['run']}, {report['direction']}: {report['queries']} queries of qrels "
        lines = [f"{whose}{report['qrels']} version {report['version']}{f' ({which})' if which else ''}."]
        if not report["pool"]:
            lines.append("Unjudged items count as not relevant; in the column 'at best', as relevant.")
        if report["folds"]:
            lines.append(f"Means over {report['folds']} folds of the images.")
        return "\n".join(lines)
