"""One line of JSON per log record, with the ids of the request and of the task it belongs to."""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime

from celery import current_task

#: The request that is being answered in this thread, or "".
request_id: ContextVar[str] = ContextVar("request_id", default="")


#: Addresses that let in the person who has them, and where the part begins that does; and all that is asked
#: for at those by which crowd platforms, and servers where people sign in, send people.
_SECRETS = re.compile(
    r"""((?:/|%2f)(?:invite|staff-invite|first-account|pictures|forgotten|mturk/[^/\s]+/begin)(?:/|%2f))[^\s"'<>]+"""
    r"""|((?:/|%2f)(?:prolific|mturk|sign-in/elsewhere)(?:/|%2f)[^\s"'<>?]*)\?[^\s"'<>]*""",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """`text` without what would let its reader in as somebody else: what follows such addresses is cut."""
    return _SECRETS.sub(lambda match: f"{match[1] or match[2]}...", text)


class Discreet(logging.Formatter):
    """Lines that hold no address by which anybody gets in, no matter who writes them: also Django, of
    errors."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: time (ISO 8601, UTC), level, logger, message, ids, and what `extra` gave.

    `extra={"fields": {...}}` adds fields of its own; they do not replace those named here.
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
        if current_task and current_task.request.id:
            line["task"] = current_task.request.id
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        line |= {name: value for name, value in getattr(record, "fields", {}).items() if name not in line}
        return json.dumps(line, default=str, ensure_ascii=False)
