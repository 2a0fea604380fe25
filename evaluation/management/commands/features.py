"""`manage.py features [CORPUS]`: the feature sets, with size, origin and use.

python manage.py features flickr8k
python manage.py features flickr8k --remove resnet:1
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import filesizeformat

from annotation.common.locks import Busy
from annotation.common.plain_text import plain_table
from annotation.management.base import ReportCommand
from annotation.selectors.corpora import corpus_named
from evaluation.services.features.store import feature_set, feature_sets
from evaluation.services.systems import registry
from evaluation.services.systems.feature_use import remove_unused, systems_of
from evaluation.services.weak.collections import weak_collections

_SHOWN = ("set", "kind", "rows", "dimensions", "type", "size", "from", "used by")


class Command(ReportCommand):
    help = "List the feature sets of a corpus, or of all, or remove one that no system uses."
    refusals = (*ReportCommand.refusals, registry.InUse, Busy)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", nargs="?", default="", help="Only those of this corpus")
        parser.add_argument("--remove", metavar="SET", help="Remove this set of the corpus")

    def report(self, **options: Any) -> dict[str, Any]:
        corpus = options["corpus"]
        if corpus and corpus not in {one.name for one in weak_collections()}:
            corpus_named(corpus)
        if options["remove"]:
            if not corpus:
                raise CommandError("name the corpus whose feature set is to be removed")
            found = feature_set(corpus, options["remove"])
            remove_unused(found)
            return {"removed": found.label}
        return {
            "sets": [
                {**one.as_dict(), "label": one.label, "used_by": systems_of(one)}
                for one in feature_sets(corpus or None)
            ]
        }

    def show(self, report: dict[str, Any]) -> str:
        if "removed" in report:
            return f"feature set {report['removed']} removed"
        if not report["sets"]:
            return "no feature sets"
        rows = [
            [
                f"{one['corpus']} {one['label']}",
                one["kind"],
                str(one["rows"]),
                str(one["dimensions"]),
                one["dtype"],
                filesizeformat(one["bytes"]).replace("\xa0", " "),
                one["origin"].get("file") or one["origin"].get("extractor", ""),
                ", ".join(one["used_by"]),
            ]
            for one in report["sets"]
        ]
        return plain_table([*_SHOWN], rows)
