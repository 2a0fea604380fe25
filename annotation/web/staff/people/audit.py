"""The audit log of the whole server, for its admins."""

from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.models import AuditEntry
from annotation.selectors.people.audit import AUDIT_GROUPS, audit_entries
from annotation.web.common.access import for_admins
from annotation.web.common.filters import query_number
from annotation.web.staff.campaign_pages import query_string
from annotation.web.staff.wording import ACTS, done_by

#: Number of lines on a page.
AUDIT_PER_PAGE = 100
#: Labels of a line's fields; others have their stored name.
_KEYS = {
    "account": gettext_lazy("account"),
    "role": gettext_lazy("role"),
    "corpus": gettext_lazy("corpus"),
    "system": gettext_lazy("system"),
    "run": gettext_lazy("run"),
    "judgments": gettext_lazy("judgments"),
    "report": gettext_lazy("report"),
    "licence": gettext_lazy("licence"),
    "worker": gettext_lazy("worker"),
    "name": gettext_lazy("name"),
    "days": gettext_lazy("days"),
    "writes": gettext_lazy("may write"),
    "who": gettext_lazy("who"),
    "before": gettext_lazy("before"),
    "left": gettext_lazy("codes left"),
    "sessions": gettext_lazy("sessions ended"),
    "tokens": gettext_lazy("tokens ended"),
    "reason": gettext_lazy("reason"),
}
#: Fields of a line that the page hides: they distinguish things for programs, which read them by the API.
_HIDDEN_FIELDS = ("digest", "because")
#: Maximum number of characters of a value that are shown.
_LONGEST = 200


class WordedLine(NamedTuple):
    """A line in words: the entry, the actor, the act, and its subject."""

    entry: AuditEntry
    who: str
    what: str
    about: str


@require_safe
@for_admins
def audit_page(request: HttpRequest) -> HttpResponse:
    """List who did what, the newest first."""
    group = request.GET.get("group", "")
    group = group if group in AUDIT_GROUPS else ""
    account, campaign = (
        request.GET.get(name, "").replace("\0", "").strip() for name in ("account", "campaign")
    )
    before = query_number(request.GET, "before")
    entries = audit_entries(group=group, account=account, campaign=campaign)
    if before is not None:
        entries = entries.filter(pk__lt=before)
    rows = list(entries[: AUDIT_PER_PAGE + 1])
    more, rows = len(rows) > AUDIT_PER_PAGE, rows[:AUDIT_PER_PAGE]
    held = {"group": group, "account": account, "campaign": campaign}
    about = {
        "lines": [_line(row) for row in rows],
        "groups": AUDIT_GROUPS.items(),
        "group": group,
        "account": account,
        "of_campaign": campaign,
        "first": query_string(**held) or "?" if before is not None else "",
        "later": query_string(**held, before=rows[-1].pk) if more else "",
    }
    return render(request, "annotation/staff/audit.html", about)


def _line(entry: AuditEntry) -> WordedLine:
    who = done_by(entry) if entry.actor_name or entry.actor else _by_nobody(entry)
    parts = [
        f"{_KEYS.get(key, key)}: {_short(value)}"
        for key, value in entry.about.items()
        if key not in _HIDDEN_FIELDS and value not in (None, "", [], {})
    ]
    return WordedLine(entry, who, str(ACTS.get(entry.act, entry.act)), "; ".join(parts))


def _by_nobody(entry: AuditEntry) -> str:
    """Return the actor of an act without an account: a worker, by pseudonym, or the command line."""
    return str(entry.about["worker"]) if entry.act == AuditEntry.CHANGE_ANSWER else done_by(entry)


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


urlpatterns = [path("", audit_page, name="audit")]
