"""`manage.py erase_worker WORKER`, or `--again` after a backup was restored."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ReportCommand
from annotation.workers import pseudonyms
from annotation.workers.pseudonyms import CannotErase


class Command(ReportCommand):
    help = (
        "Erase a worker's personal data: account, sessions, identity and comments are deleted; answers stay "
        "under "
        "the pseudonym. Refused while payment is due. With --again, erase everybody again whom a restored "
        "backup brought back."
    )
    refusals = (CannotErase, OSError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("worker", nargs="?", help="By pseudonym, or by the name of the account")
        parser.add_argument("--texts", action="store_true", help="Erase what they wrote as answers, too")
        parser.add_argument("--again", action="store_true", help="Apply the list of erasures once more")

    def report(self, **options: Any) -> dict[str, Any]:
        if bool(options["worker"]) == options["again"]:
            raise CannotErase("name a worker, or give --again to apply the list of erasures; one of the two")
        if options["again"]:
            done = pseudonyms.erase_again()
        else:
            done = [
                pseudonyms.erase_worker(
                    worker=pseudonyms.worker_called(options["worker"]), texts=options["texts"]
                )
            ]
        return {"erased": [asdict(one) for one in done], "list": str(pseudonyms.erasures_file())}

    def show(self, report: dict[str, Any]) -> str:
        lines = []
        for one in report["erased"]:
            if one["already"]:
                lines.append(f"worker {one['pseudonym']} was erased before; nothing is left of them")
            else:
                account = "account deleted" if one["account"] else "no account"
                lines.append(
                    f"worker {one['pseudonym']} is erased: {account}, sessions {one['sessions']}, comments "
                    f"{one['comments']}, texts {one['texts']}; the answers stay under the pseudonym"
                )
        if not lines:
            lines.append("nobody on the list of erasures is back")
        lines.append(f"list of erasures: {report['list']}; `restore` keeps it, and erases again")
        return "\n".join(lines)
