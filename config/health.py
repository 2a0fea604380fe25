"""What a supervisor asks: does the process answer, and can it do its work?"""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@require_safe
@never_cache
@login_not_required
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """200 where the database is reachable and every migration applied, else 503 with the reason."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        # What the driver says names hosts and users; that belongs in the log, not in the answer.
        return JsonResponse({"status": "unready", "reason": "the database cannot be reached"}, status=503)
    if missing:
        reason = f"{len(missing)} of {len(executor.loader.graph.nodes)} migrations are not applied: "
        reason += "run manage.py migrate"
        return JsonResponse({"status": "unready", "reason": reason}, status=503)
    return JsonResponse({"status": "ready"})
