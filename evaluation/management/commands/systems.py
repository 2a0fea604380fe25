"""`manage.py systems [NAME]`: what ranks, where it comes from, and what it ranked.

python manage.py systems
python manage.py systems clip --json
python manage.py systems --remove clip
python manage.py systems --recipes
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.management.base import ReportCommand, plain_table
from evaluation.models import Run, System
from evaluation.services.systems import registry
from models_core.systems.named_recipes import named_recipes
from models_core.systems.recipe import Recipe

_SHOWN = ("system", "origin", "recipe", "corpus")
_OF_RECIPE = ("recipe", "method", "text", "image", "source")


class Command(ReportCommand):
    help = (
        "List the systems and their runs, or the recipes that systems are trained by; show one system in "
        "full, or remove one that nothing else uses."
    )
    refusals = (*ReportCommand.refusals, registry.InUse, Busy)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", nargs="?", default="", help="Show only this system")
        act = parser.add_mutually_exclusive_group()
        act.add_argument(
            "--recipes", action="store_true", help="List the recipes that train_system knows by name"
        )
        act.add_argument("--remove", metavar="SYSTEM", help="Remove a system that has no runs")

    def report(self, **options: Any) -> dict[str, Any]:
        if options["remove"]:
            registry.remove_system(name=options["remove"])
            return {"removed": f"system {options['remove']}"}
        if options["recipes"]:
            return {"recipes": [_recipe(recipe) for recipe in named_recipes().values()]}
        if options["name"]:
            return {"systems": [_told(registry.system_row(options["name"]))]}
        registry.register_unlisted_systems()
        found = System.objects.select_related("corpus", "created_by").prefetch_related("runs")
        return {"systems": [_told(system) for system in found]}

    def show(self, report: dict[str, Any]) -> str:
        if "removed" in report:
            return f"{report['removed']} removed"
        if "recipes" in report:
            return plain_table(
                [*_OF_RECIPE],
                [[one[key] for key in _OF_RECIPE] for one in report["recipes"]],
            )
        if not report["systems"]:
            return "no systems"
        table = plain_table(
            [*_SHOWN, "runs"],
            [
                [*(one[key] for key in _SHOWN), ", ".join(run["run"] for run in one["runs"])]
                for one in report["systems"]
            ],
        )
        remarks = [
            f"{one['system']}: {remark}"
            for one in report["systems"]
            for remark in (*one["selection"], *one["remarks"])
        ]
        return "\n".join([table, *remarks])


def _recipe(recipe: Recipe) -> dict[str, str]:
    """A recipe in a line; all of it is in the page and in docs/systems.md."""
    return {
        "recipe": recipe.name,
        "method": recipe.kind.title,
        "text": recipe.text.kernel,
        "image": recipe.image.kernel,
        "source": recipe.kind.source,
        "printed": recipe.printed,
        "digest": recipe.digest,
    }


def _told(system: System) -> dict[str, Any]:
    """A system and its runs as plain data."""
    return {
        "system": system.name,
        "origin": system.origin,
        "corpus": system.corpus.name,
        "recipe": system.recipe,
        "settings": system.settings,
        **{key: system.settings.get(key, []) for key in ("selection", "remarks")},
        "seed": system.seed,
        "sources": system.sources,
        "versions": system.versions,
        "digest": system.digest,
        "job": system.job_id,
        "by": system.created_by.get_username() if system.created_by else None,
        "created_at": system.created_at.isoformat(timespec="seconds"),
        "runs": [_run(run) for run in sorted(system.runs.all(), key=lambda run: run.name) if run.published],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "run": run.name,
        "direction": run.direction,
        "split": run.split,
        "protocol": run.protocol,
        "seed": run.seed,
        "depth": run.depth,
        "queries": run.query_count,
        "digest": run.digest,
        "system_digest": run.system_digest,
    }
