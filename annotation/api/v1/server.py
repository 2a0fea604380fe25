"""The server itself, by API: what its page shows its admins, and a test e-mail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation import jobs
from annotation.api.contents import json_time
from annotation.api.rest.doors import OfServer
from annotation.api.rest.operations import GET, POST, ApiCall, ApiRoute, serves
from annotation.common.roles import ADMIN
from annotation.jobs import emails, schedule, upkeep
from annotation.models import Job, LastTurn

_TAG = "server"
_ADMINS = OfServer((ADMIN,))


class ServerAlarmShown(serializers.Serializer[Any]):
    """Something that is wrong with the server."""

    code = serializers.ChoiceField(["disk_low", "backup_old", "periodic"])
    kind = serializers.CharField(help_text="Of the periodic work, which entry.")
    text = serializers.CharField()


class PeriodicShown(serializers.Serializer[Any]):
    """An entry of the periodic work: seconds from turn to turn, the last and the next."""

    name = serializers.CharField()
    every = serializers.FloatField()
    last_at = serializers.DateTimeField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True)
    failed = serializers.BooleanField()
    late = serializers.BooleanField()


class FolderShown(serializers.Serializer[Any]):
    """A file or folder of DATA_DIR, and the bytes that it takes."""

    name = serializers.CharField()
    size = serializers.IntegerField()


class BackupShown(serializers.Serializer[Any]):
    """The last backup: when it was made, its file's name and size in bytes."""

    made_at = serializers.DateTimeField()
    file = serializers.CharField()
    size = serializers.IntegerField()


class ServerShown(serializers.Serializer[Any]):
    """The state of the server; sizes are in bytes."""

    version = serializers.CharField()
    database = serializers.CharField()
    disk_size = serializers.IntegerField()
    disk_free = serializers.IntegerField()
    folders = FolderShown(many=True)
    measured_at = serializers.DateTimeField(allow_null=True)
    backup = BackupShown(allow_null=True)
    alarms = ServerAlarmShown(many=True)
    periodic = PeriodicShown(many=True)
    sends_mail = serializers.BooleanField()


@serves(ApiRoute(route="server", method=GET, path="server", tag=_TAG, opens=_ADMINS, answers=ServerShown))
def server_show_call(call: ApiCall) -> dict[str, Any]:
    """Show the state of the server: what is wrong, its disk, its last backup, its periodic work."""
    every = {name: entry.every for name, entry in schedule.PERIODIC.items()}
    disk = upkeep.disk()
    measured, backup = upkeep.last_turn(LastTurn.MEASURE_DISK), upkeep.last_turn(LastTurn.BACKUP)
    used: dict[str, int] = measured.about.get("bytes", {}) if measured is not None else {}
    return {
        "version": settings.PRODUCT_VERSION,
        "database": connection.vendor,
        "disk_size": disk.total,
        "disk_free": disk.free,
        "folders": [{"name": name, "size": size} for name, size in used.items()],
        "measured_at": json_time(measured.ended_at) if measured is not None else None,
        "backup": _backup_plain(backup) if backup is not None else None,
        "alarms": [each._asdict() for each in upkeep.server_alarms(every)],
        "periodic": [
            {
                "name": each.name,
                "every": each.every,
                "last_at": json_time(each.last),
                "next_at": json_time(each.next),
                "failed": each.failed,
                "late": each.late,
            }
            for each in upkeep.periodic_states(every)
        ],
        "sends_mail": settings.SENDS_MAIL,
    }


@serves(
    ApiRoute(
        route="server_test_mail", method=POST, path="server/test-mail", tag=_TAG, opens=_ADMINS, job=True
    )
)
def server_test_mail_call(call: ApiCall) -> Job:
    """Send yourself an e-mail, as a job, which shows that the server can."""
    if not call.account.email:
        raise jobs.JobError(_("Your account has no e-mail address: add one on “My account” first."))
    return emails.request_test_mail(account=call.account, language=get_language() or settings.LANGUAGE_CODE)


def _backup_plain(row: LastTurn) -> dict[str, Any]:
    return {
        "made_at": json_time(row.ended_at),
        "file": row.about.get("file", ""),
        "size": row.about.get("bytes", 0),
    }
