"""`manage.py score_run RUN --qrels Q [--measures M,M] [--json|--csv|--latex]`: a run's figures.

    python manage.py score_run kcca --qrels hodosh --measures R@1,R@10,"median rank",S@10

Beside each figure: what it would be with unjudged items at their best, the share of the top k that
was judged, and how many queries have a value. Nothing is written.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from evaluation.management.base import TableCommand
from evaluation.scoring import score
from evaluation.selectors import run_named, snapshot_named
from evaluation.tables import Table, known


class Command(TableCommand):
    help = "Score a run under frozen qrels."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("run", help="The run")

    def report(self, **options: Any) -> dict[str, Any]:
        run, snapshot = run_named(options["run"]), snapshot_named(options["qrels"])
        found = score(run, snapshot, options["measures"])
        return {
            "run": run.name,
            "system": run.system,
            "direction": run.direction,
            "qrels": snapshot.name,
            "version": snapshot.version,
            "digest": snapshot.digest,
            "queries": found.queries,
            "missing": found.missing,
            "measures": [
                {
                    "measure": name,
                    "value": known(figure.value),
                    "optimistic": known(figure.optimistic),
                    "judged_at": found.judged[name][0],
                    "judged": known(found.judged[name][1]),
                    "queries": figure.queries,
                }
                for name, figure in found.scores.items()
            ],
        }

    def table(self, report: dict[str, Any]) -> Table:
        return Table(
            ["measure", "value", "at best", "judged", "in the top", "queries"],
            [
                [m["measure"], m["value"], m["optimistic"], m["judged"], m["judged_at"], m["queries"]]
                for m in report["measures"]
            ],
        )

    def remarks(self, report: dict[str, Any]) -> str:
        missing = f", {report['missing']} of them not ranked by the run" if report["missing"] else ""
        return (
            f"{report['run']}, {report['direction']}: {report['queries']} queries of qrels "
            f"{report['qrels']} version {report['version']}{missing}.\n"
            "Unjudged items count as not relevant; at best, as relevant."
        )
