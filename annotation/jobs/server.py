"""The server itself, for its admins: alarms, disk, last backup, periodic work; a test e-mail."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.common.operations import OperationContext
from annotation.jobs import emails, schedule, upkeep
from annotation.jobs.status import JobStatus, job_status
from annotation.jobs.upkeep import PeriodicState
from annotation.models import PeriodicRun
from annotation.notifications.alarms import DetectedAlarm
from phrasebox.errors import PhraseboxError


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """The server's problems, its disk, its last backup, its periodic work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailYourselfRequest:
    """An e-mail to yourself, to test the server's e-mail settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSize:
    """A file or folder of DATA_DIR, and its size in bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBackup:
    """The last backup: its time, its file's name and its size in bytes."""

    made_at: datetime
    file: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """The state of the server; sizes are in bytes. The largest folders come first."""

    version: str
    database: str
    disk_size: int
    disk_free: int
    folders: tuple[FolderSize, ...]
    measured_at: datetime | None
    backup: LastBackup | None
    alarms: tuple[DetectedAlarm, ...]
    periodic: tuple[PeriodicState, ...]
    sends_mail: bool


def show_server(request: ServerRequest, context: OperationContext) -> ServerState:
    """Return the state of the server."""
    every = {name: entry.every for name, entry in schedule.PERIODIC.items()}
    disk = upkeep.disk()
    measured, backup = upkeep.last_run(PeriodicRun.MEASURE_DISK), upkeep.last_run(PeriodicRun.BACKUP)
    used: dict[str, int] = measured.about.get("bytes", {}) if measured is not None else {}
    return ServerState(
        version=settings.PRODUCT_VERSION,
        database=connection.vendor,
        disk_size=disk.total,
        disk_free=disk.free,
        folders=tuple(
            FolderSize(name=name, size=size) for name, size in sorted(used.items(), key=lambda item: -item[1])
        ),
        measured_at=measured.ended_at if measured is not None else None,
        backup=_last_backup(backup) if backup is not None else None,
        alarms=tuple(upkeep.server_alarms(every)),
        periodic=tuple(upkeep.periodic_states(every)),
        sends_mail=settings.SENDS_MAIL,
    )


def mail_yourself(request: MailYourselfRequest, context: OperationContext) -> JobStatus:
    """Queue an e-mail to the caller. Raises NoAddress."""
    if not context.actor.email:
        raise PhraseboxError(_("Your account has no e-mail address: add one first."))
    language = get_language() or settings.LANGUAGE_CODE
    return job_status(emails.request_test_mail(account=context.actor, language=language))


def _last_backup(row: PeriodicRun) -> LastBackup:
    return LastBackup(made_at=row.ended_at, file=row.about.get("file", ""), size=row.about.get("bytes", 0))
