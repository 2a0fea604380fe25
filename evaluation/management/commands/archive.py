"""`manage.py archive run|batch|report NAME [--undo]`: out of the lists, or back."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.common.registry import UnknownName
from annotation.management.base import ReportCommand
from evaluation.services.archiving import ARCHIVABLE, set_archived


class Command(ReportCommand):
    help = (
        "Archive something: lists leave it out, unless they are asked for what is archived. Nothing else "
        "changes, and --undo brings it back."
    )
    refusals = (UnknownName,)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("what", choices=[what for what in ARCHIVABLE if what != "system"])
        parser.add_argument("name")
        parser.add_argument("--undo", action="store_true", help="Bring it back into the lists")

    def report(self, **options: Any) -> dict[str, Any]:
        what, name, archived = options["what"], options["name"], not options["undo"]
        row = ARCHIVABLE[what]._default_manager.filter(name=name).first()
        if row is None:
            raise UnknownName(f"unknown {what} {name!r}")
        changed = set_archived(row, archived=archived)
        return {"what": what, "name": name, "archived": archived, "changed": changed}

    def show(self, report: dict[str, Any]) -> str:
        now = "archived" if report["archived"] else "in the lists"
        return f"{report['what']} {report['name']!r} is {now}{'' if report['changed'] else ', as before'}"
