"""Health checks for a supervisor: does the process respond, and can it work?"""

import logging
import os
import tempfile

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.common import database

_log = logging.getLogger(__name__)
#: Number of bytes that a trial writes: a disk block.
BLOCK = 4096
MEGABYTE = 10**6


@require_safe
@never_cache
@login_not_required
def healthz(request: HttpRequest) -> JsonResponse:
    """Return 200 while the process responds; uses nothing else."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """Return 200 if the server can work, else 503 with the reason.

    That is: the database is reachable and has the tables of this code, and DATA_DIR is writable.
    """
    if reason := _database_fault() or _disk_fault():
        return JsonResponse({"status": "unready", "reason": reason}, status=503)
    return JsonResponse({"status": "ready"})


def _database_fault() -> str:
    """Return the problem with the database, and the remedy."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except (DatabaseError, InterfaceError) as error:
        # The driver's message names hosts and users; that belongs in the log, not in the response.
        _log.warning("not ready: the database cannot be used: %s", str(error).strip())
        return "the database cannot be reached"
    if newer := database.newer(executor.loader):
        return newer
    if missing:
        count = len(executor.loader.graph.nodes)
        return f"{len(missing)} of {count} migrations are not applied: run manage.py migrate"
    return ""


def _disk_fault() -> str:
    """Return the problem with DATA_DIR, and the remedy."""
    try:
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.DATA_DIR, buffering=0) as trial:
            trial.write(bytes(BLOCK))
        disk = os.statvfs(settings.DATA_DIR)
    except OSError as error:
        _log.warning("not ready: DATA_DIR=%s is not writable: %s", settings.DATA_DIR, error.strerror)
        return "DATA_DIR is not writable: free some space, or give the server permission to write"
    if disk.f_bavail * disk.f_frsize < settings.DISK_RESERVE:
        megabytes = settings.DISK_RESERVE // MEGABYTE
        return f"less than {megabytes} MB are free on the disk of DATA_DIR (DISK_RESERVE): free some space"
    return ""
