"""Logs of the simulated workers: what they sent, and what was acknowledged.

One line of JSON per note, in one file per worker, written before any further action: the log survives the
process. Times are the harness's own, whose clock does not step.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: A task was assigned to the worker; its lease was renewed; it was returned.
LEASED, RENEWED, RETURNED = "leased", "renewed", "returned"
#: An answer is about to be sent; it was acknowledged as new; as stored before; it was refused.
SENDING, STORED, REPEATED, REJECTED = "sent", "stored", "repeated", "refused"


class Note(NamedTuple):
    """One line: time, worker, event, assignment; an answer's key and digest; and other fields."""

    at: float
    worker: str
    what: str
    assignment: int
    key: str = ""
    digest: str = ""
    kind: str = ""
    more: str = ""


class Journal:
    """The notes of one worker. Not for two threads."""

    def __init__(self, folder: Path, worker: str) -> None:
        self.worker = worker
        self._file = os.open(folder / f"{worker}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(
        self, what: str, assignment: int, *, key: str = "", digest: str = "", kind: str = "", more: str = ""
    ) -> None:
        line = Note(time.time(), self.worker, what, assignment, key, digest, kind, more)
        os.write(self._file, f"{json.dumps(line)}\n".encode())

    def close(self) -> None:
        os.close(self._file)


def read(folder: Path) -> list[Note]:
    """Return all notes of a folder, sorted by time; truncated lines are skipped."""
    notes = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.endswith("]"):
                notes.append(Note(*json.loads(line)))
    return sorted(notes, key=lambda note: note.at)


def digest_of(answer: str, box: Any, flag: str, content: Mapping[str, Any] | None) -> str:
    """Return a short digest of an answer, the same for sent and stored answers.

    `content` in the form that is sent: `ticked`, `text` or `regions`.
    """
    text = json.dumps([answer, box, flag, content], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
