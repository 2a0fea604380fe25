"""Lines of the audit no longer say who a pseudonym is, or who came from a platform.

They named the account of a worker beside their pseudonym (`change_answer`, and the control items that such a change
retired), and ids of a platform (`confirm_visit`), both for ever. This once, the trigger lets them be edited.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import migrations

from annotation.migrations._by_hand import allow, forbid

#: Control items that a changed answer retired have a line of the same transaction.
AT_ONCE = timedelta(seconds=5)


def batched(values: list[int], size: int) -> Iterator[list[int]]:
    for first in range(0, len(values), size):
        yield values[first : first + size]


def _follows_at_once(changes: list[datetime], retired: datetime) -> bool:
    """Whether the first change after a line was written with it."""
    place = bisect_left(changes, retired)
    return place < len(changes) and changes[place] - retired < AT_ONCE


def redact(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    lines = apps.get_model("annotation", "AuditEntry").objects.using(alias)
    visits = apps.get_model("annotation", "Visit").objects.using(alias)
    changed = lines.filter(act="change_answer").exclude(actor_name="", actor=None)
    when: dict[str, list[datetime]] = {}
    for who, at in changed.order_by("at").values_list("actor_name", "at"):
        when.setdefault(who, []).append(at)
    retired = lines.filter(act="retire_known_items", actor_name__in=list(when)).values_list("pk", "actor_name", "at")
    by_workers = [pk for pk, who, at in list(retired) if _follows_at_once(when[who], at)]
    for pks in (by_workers, list(changed.values_list("pk", flat=True))):
        for chunk in batched(pks, 500):
            lines.filter(pk__in=chunk).update(actor=None, actor_name="")
    for line in list(lines.filter(act="confirm_visit")):
        if line.about.keys() & {"submission", "participant"}:
            ids = {"external_id": line.about.get("submission"), "participant": line.about.get("participant")}
            visit = visits.filter(study__campaign=line.campaign_id, **ids).first()
            lines.filter(pk=line.pk).update(about={"visit": visit.pk if visit else None})


class Migration(migrations.Migration):
    dependencies = [("annotation", "0032_proposals_by_version")]

    operations = [
        migrations.RunPython(allow, forbid),
        migrations.RunPython(redact, migrations.RunPython.noop),
        migrations.RunPython(forbid, allow),
    ]
