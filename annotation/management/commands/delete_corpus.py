"""`manage.py delete_corpus NAME`: take away a corpus that nothing uses."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.datasets.deleting import CorpusInUse, delete_corpus
from annotation.management.base import ReportCommand
from annotation.selectors.corpora import corpus_named


class Command(ReportCommand):
    help = (
        "Delete a corpus that nothing uses: no campaign, system, run, qrels, batch, report or feature set. "
        "Its layers are deleted too, and pictures that no other corpus shows; its entries in the audit log "
        "stay."
    )
    refusals = (UnknownName, CorpusInUse, Busy)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus")

    def report(self, **options: Any) -> dict[str, Any]:
        corpus = corpus_named(options["corpus"])
        delete_corpus(corpus=corpus)
        return {"corpus": options["corpus"], "images": corpus.image_count, "deleted": True}

    def show(self, report: dict[str, Any]) -> str:
        return f"corpus {report['corpus']!r} with its {report['images']} images is deleted"
