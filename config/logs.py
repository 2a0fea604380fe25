"""One line of JSON per log record, with the ids of the request and of the task."""

import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime

#: The id of the request being handled in this thread, or "".
request_id: ContextVar[str] = ContextVar("request_id", default="")


#: Paths that give access to anybody who knows them, up to the secret part; and all query strings of paths to
#: which crowd platforms and sign-in servers send people.
_SECRETS = re.compile(
    r"""((?:/|%2f)(?:invite|staff-invite|first-account|pictures|forgotten|mturk/[^/\s]+/begin)(?:/|%2f))[^\s"'<>]+"""
    r"""|((?:/|%2f)(?:prolific|mturk|sign-in/elsewhere)(?:/|%2f)[^\s"'<>?]*)\?[^\s"'<>]*""",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Return `text` without secrets in paths, with which its reader could sign in as somebody else."""
    return _SECRETS.sub(lambda match: f"{match[1] or match[2]}...", text)


class Discreet(logging.Formatter):
    """A formatter that hides secret paths in all lines, including Django's errors."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: time (ISO 8601, UTC), level, logger, message, ids, and `extra`.

    `extra={"fields": {...}}` adds fields; they do not replace the standard ones.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
        }
        if request_id.get():
            line["request"] = request_id.get()
        if task := _current_task():
            line["task"] = task
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        line |= {name: value for name, value in getattr(record, "fields", {}).items() if name not in line}
        return json.dumps(line, default=str, ensure_ascii=False)


def _current_task() -> str:
    """Return the id of the task that this thread runs, or "": a process without Celery runs none."""
    task = getattr(sys.modules.get("celery"), "current_task", None)
    return str(task.request.id or "") if task else ""
