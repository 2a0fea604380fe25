"""`manage.py set_licence CORPUS LICENCE`: under which licence a corpus may be used."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.common.registry import UnknownName
from annotation.datasets.licences import BadLicence, set_licence
from annotation.management.base import ReportCommand
from annotation.selectors.corpora import corpus_named


class Command(ReportCommand):
    help = "Say under which licence a corpus may be used. Datasheets and dataset cards repeat it."
    refusals = (UnknownName, BadLicence)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus", help="The name of the corpus")
        parser.add_argument("licence", help='Such as "CC BY 4.0"; "" says that nobody knows')

    def report(self, **options: Any) -> dict[str, Any]:
        corpus = corpus_named(options["corpus"])
        changed = set_licence(corpus=corpus, licence=options["licence"])
        return {"corpus": corpus.name, "licence": corpus.licence, "changed": changed}

    def show(self, report: dict[str, Any]) -> str:
        told = f"licence {report['licence']!r}" if report["licence"] else "no licence"
        return f"corpus {report['corpus']!r} has {told}{'' if report['changed'] else ', as before'}"
