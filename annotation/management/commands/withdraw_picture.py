"""`manage.py withdraw_picture CORPUS IMAGE`: take a picture away whose subject objects."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.common.registry import UnknownName
from annotation.management.base import ReportCommand
from annotation.moderation.withdrawing import CannotWithdraw, withdraw_picture
from annotation.selectors.corpora import corpus_named


class Command(ReportCommand):
    help = (
        "Withdraw the picture of an image permanently: its file and small copy, open tasks that show it, "
        "control items about it, and exports of its corpora. Every corpus that has the same picture loses "
        "it. Captions and answers stay. A restored backup withdraws it again."
    )
    refusals = (UnknownName, CannotWithdraw)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("corpus")
        parser.add_argument("image", help="The id by which its corpus knows it")

    def report(self, **options: Any) -> dict[str, Any]:
        corpus = corpus_named(options["corpus"])
        image = corpus.images.filter(key=options["image"]).first()
        if image is None:
            raise UnknownName(f"corpus {corpus.name!r} has no image {options['image']!r}")
        return asdict(withdraw_picture(image=image))

    def show(self, report: dict[str, Any]) -> str:
        r = report
        return (
            f"withdrawn from {', '.join(r['corpora'])}: {r['images']} images, {r['tasks']} open tasks, "
            f"{r['leases']} leases, {r['controls']} control items, {r['exports']} exports"
        )
