"""The server's own state: its periodic work, its disk, and their alarms.

An alarm, of a campaign or of the server, is reported once (`notifications.alarms`).
"""

import logging
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import jobs
from annotation.campaigns import monitoring
from annotation.common import database
from annotation.jobs import emails
from annotation.models import Account, Campaign, Job, PeriodicRun
from annotation.notifications.alarms import DetectedAlarm, note_alarms

_log = logging.getLogger(__name__)

#: Seconds within which an entry without changes is not written again: some run every 15 seconds.
_NOTED_EVERY = 60.0
#: An alarm is raised when less than this multiple of DISK_RESERVE is free; below DISK_RESERVE the server is
#: not ready.
_RESERVES = 10
#: For how many hours a failed job raises an alarm.
FAILED_HOURS = 24
#: Days without a backup after which an alarm is raised.
BACKUP_DAYS = 7
#: After how many missed runs, plus how many seconds, an entry counts as late.
_TURNS_MISSED, _LATE_SECONDS = 3, 300

_noted: dict[str, tuple[float, bool]] = {}


class Disk(NamedTuple):
    """The disk of DATA_DIR, in bytes."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class PeriodicState:
    """An entry of the periodic work: its interval in seconds, its last and its next run, if it ever ran;
    whether the last one failed, and whether the next is late."""

    name: str
    every: float
    last_at: datetime | None
    next_at: datetime | None
    failed: bool
    late: bool


def note_run(name: str, begun: datetime, *, failed: bool = False) -> None:
    """Record that an entry of the periodic work ran; at most once a minute while nothing changes."""
    at, before = _noted.get(name, (-_NOTED_EVERY, failed))
    if before == failed and monotonic() - at < _NOTED_EVERY:
        return
    values = {"begun_at": begun, "ended_at": database.now(), "failed": failed}
    try:
        with database.writing():
            PeriodicRun.objects.update_or_create(name=name, defaults=values)
    except jobs.DATABASE_LOST as error:
        _log.warning("that %s was done is not kept: %s", name, error)
        jobs.mend_connection()
        return
    _noted[name] = (monotonic(), failed)


def periodic_states(every: Mapping[str, float]) -> list[PeriodicState]:
    """Return the states of the entries of the periodic work; `every` has their intervals in seconds."""
    now = database.now()
    rows = {row.name: row for row in PeriodicRun.objects.filter(name__in=every)}
    states = []
    for name, seconds in every.items():
        row = rows.get(name)
        due = row.begun_at + timedelta(seconds=seconds) if row is not None else None
        spare = timedelta(seconds=_TURNS_MISSED * seconds + _LATE_SECONDS)
        late = due is not None and now > due + spare
        states.append(
            PeriodicState(
                name, seconds, row.begun_at if row else None, due, row.failed if row else False, late
            )
        )
    return states


def disk() -> Disk:
    """Return the size of the disk of DATA_DIR, and how much of it is free."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    usage = shutil.disk_usage(settings.DATA_DIR)
    return Disk(usage.total, usage.free)


def measure_disk() -> None:
    """Store the sizes in bytes of the folders of DATA_DIR."""
    begun = database.now()
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    used = {}
    for entry in sorted(os.scandir(settings.DATA_DIR), key=lambda item: item.name):
        used[entry.name] = _bytes_of(Path(entry.path))
    values = {"begun_at": begun, "ended_at": database.now(), "failed": False, "about": {"bytes": used}}
    with database.writing():
        PeriodicRun.objects.update_or_create(name=PeriodicRun.MEASURE_DISK, defaults=values)


def last_run(name: str) -> PeriodicRun | None:
    """Return the last run of an entry; None if it never ran."""
    return PeriodicRun.objects.filter(name=name).first()


def _bytes_of(path: Path) -> int:
    """Return the size in bytes of a file, or of all files in a folder; files that disappear meanwhile count
    as 0."""
    total = 0
    try:
        if path.is_symlink():
            return 0
        if not path.is_dir():
            return path.stat().st_blocks * 512
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                total += _bytes_of(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                total += entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError as error:
        _log.info("%s is not measured: %s", path, error.strerror)
    return total


def server_alarms(every: Mapping[str, float]) -> list[DetectedAlarm]:
    """Return the server's current alarms: about its disk, its backups, its jobs, its periodic work."""
    alarms = []
    free = disk().free
    if free < _RESERVES * settings.DISK_RESERVE:
        text = _("only %(free)d MB are free on the disk of DATA_DIR")
        alarms.append(DetectedAlarm("disk_low", "", text % {"free": free // 10**6}))
    days = _days_without_backup()
    if days is not None and days > BACKUP_DAYS:
        text = _("nobody has made a backup for %(days)d days")
        alarms.append(DetectedAlarm("backup_old", "", text % {"days": days}))
    since = database.now() - timedelta(hours=FAILED_HOURS)
    if failed := Job.objects.filter(state=Job.FAILED, finished_at__gte=since).count():
        text = ngettext(
            "%(n)d job failed in the last %(hours)d hours",
            "%(n)d jobs failed in the last %(hours)d hours",
            failed,
        )
        alarms.append(DetectedAlarm("jobs_failed", "", text % {"n": failed, "hours": FAILED_HOURS}))
    for state in periodic_states(every):
        if state.failed or state.late:
            text = (
                _("the periodic work %(name)s failed")
                if state.failed
                else _("the periodic work %(name)s is late")
            )
            alarms.append(DetectedAlarm("periodic", state.name[:40], text % {"name": state.name}))
    return alarms


def _days_without_backup() -> int | None:
    """Return the days since the last backup, or, without any, since the first account; None without
    accounts."""
    last = last_run(PeriodicRun.BACKUP)
    since = last.ended_at if last is not None else None
    if since is None:
        since = Account.objects.order_by("date_joined").values_list("date_joined", flat=True).first()
    return (database.now() - since).days if since is not None else None


def report_server_alarms(entries: Mapping[str, Any]) -> None:
    """Report new alarms of the server."""
    every = {name: entry.every for name, entry in entries.items()}
    emails.request_alarm_mails(note_alarms(server_alarms(every)))


def look_after_campaign(campaign: Campaign) -> None:
    """Pause a campaign whose stop rule applies, and report its new alarms."""
    tick = monitoring.tick(campaign)
    alarms = _to_raise(tick.alarms)
    if tick.stopped is not None:
        alarms.append(DetectedAlarm("stopped", "", tick.stopped.text))
    emails.request_alarm_mails(note_alarms(alarms, campaign=campaign))


def campaign_alarms(campaign: Campaign) -> list[DetectedAlarm]:
    """Return a campaign's current alarms, in the active language."""
    return _to_raise(monitoring.alarms(campaign))


def _to_raise(alarms: Iterable[monitoring.Alarm]) -> list[DetectedAlarm]:
    return [DetectedAlarm(alarm.code, alarm.kind, alarm.text) for alarm in alarms]
