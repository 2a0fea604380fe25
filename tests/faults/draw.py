"""Selection of faults: equally many from each area, over all operators, at random by a seed.

A fault is identified by its function's name and its change, not by its file or line: files and functions may
move, and a seed still draws the same faults. AREAS must be updated by hand.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.operators import OPERATORS, Edit, Source, python_edits, template_edits

#: Files of each area: patterns of pathlib, from the repository's root.
AREAS: dict[str, tuple[str, ...]] = {
    "queue": (
        "annotation/queue/dispatch.py",
        "annotation/queue/available_tasks.py",
        "annotation/queue/leases/*.py",
        "annotation/queue/task_rows.py",
        "annotation/queue/image_rows.py",
        "annotation/queue/relevance_pages.py",
        "annotation/queue/model_answers.py",
        "annotation/queue/lease_terms.py",
        "annotation/quality/**/*.py",
        "annotation/moderation/worker_acts.py",
        "annotation/moderation/control_items/*.py",
        "annotation/moderation/worker_status.py",
        "annotation/moderation/reopening.py",
        "annotation/moderation/trust_replay.py",
        "annotation/moderation/withdrawn_pictures.py",
        "annotation/campaigns/**/*.py",
        "annotation/common/database.py",
        "annotation/common/locks.py",
        "annotation/common/outages.py",
        "annotation/jobs/*.py",
    ),
    "protocol": ("annotation/protocol/**/*.py",),
    "metrics": (
        "phrasebox/metrics/*.py",
        "phrasebox/agreement/*.py",
        "phrasebox/significance/*.py",
        "phrasebox/pooling/*.py",
        "phrasebox/relevance/qrels.py",
        "evaluation/comparison/scoring.py",
    ),
    "submission": (
        "annotation/queue/submission.py",
        "annotation/queue/image_state.py",
        "annotation/datasets/layer_rows.py",
        "annotation/queue/answer_rows.py",
        "annotation/moderation/rulings.py",
        "annotation/selectors/pair_judgments.py",
        "evaluation/services/judgments/importing.py",
        "evaluation/services/judgments/freezing.py",
        "evaluation/services/runs/files.py",
        "evaluation/services/batches/collecting.py",
    ),
    "web": (
        "annotation/web/**/*.py",
        "annotation/api/**/*.py",
        "annotation/recruitment/*.py",
        "evaluation/web/**/*.py",
        "annotation/task_types/*/task.html",
        "templates/**/*.html",
    ),
    "formats": (
        "annotation/formats/**/*.py",
        "annotation/datasets/importing.py",
        "annotation/datasets/exporting.py",
        "evaluation/formats/*.py",
    ),
}


@dataclass(frozen=True)
class Fault:
    """One edit of one file. `function` is empty for a template."""

    key: str  # its id, hexadecimal
    area: str
    path: str  # from the repository's root
    line: int
    function: str
    edit: Edit
    old: str

    @property
    def change(self) -> str:
        """The change in one line, for a table."""
        return f"{' '.join(self.old.split())} -> {' '.join(self.edit.new.split()) or '(nothing)'}"

    def applied(self, text: bytes) -> bytes:
        return text[: self.edit.start] + self.edit.new.encode() + text[self.edit.end :]


def faults(repository: Path, area: str) -> Iterator[Fault]:
    """Yield every possible fault of an area. Raises ValueError if a pattern of the area matches no file."""
    seen: Counter[tuple[str, ...]] = Counter()
    for pattern in AREAS[area]:
        files = sorted(repository.glob(pattern))
        if not files:
            raise ValueError(f"AREAS in tests/faults/draw.py: no file is {pattern}, of the area {area}")
        for file in files:
            text = file.read_bytes()
            source = Source(text)
            edits = python_edits(text) if file.suffix == ".py" else (("", e) for e in template_edits(text))
            for function, edit in edits:
                old = text[edit.start : edit.end].decode()
                what = (function or file.name, edit.operator, old, edit.new)
                seen[what] += 1
                key = hashlib.sha256("\0".join((*what, str(seen[what]))).encode()).hexdigest()[:10]
                path = file.relative_to(repository).as_posix()
                yield Fault(key, area, path, source.line(edit.start), function, edit, old)


def draw(repository: Path, *, seed: int, number: int) -> list[Fault]:
    """Return `number` faults, equally many from each area, by operators in turn, no two of one function."""
    chosen: list[Fault] = []
    for index, area in enumerate(AREAS):
        share = number // len(AREAS) + (index < number % len(AREAS))
        chosen += _of_area(repository, list(faults(repository, area)), seed, share)
    return chosen


def _of_area(repository: Path, all_: list[Fault], seed: int, share: int) -> list[Fault]:
    waiting: dict[str, list[Fault]] = defaultdict(list)
    for fault in sorted(all_, key=lambda fault: _lot(seed, fault), reverse=True):
        waiting[fault.edit.operator].append(fault)
    taken: list[Fault] = []
    functions: set[tuple[str, str]] = set()
    while len(taken) < share and any(waiting.values()):
        for operator in OPERATORS:
            while len(taken) < share and waiting[operator]:
                fault = waiting[operator].pop()
                function = (fault.path, fault.function)
                if function not in functions and _parses(fault, repository):
                    functions.add(function)
                    taken.append(fault)
                    break
    return taken


def _lot(seed: int, fault: Fault) -> str:
    return hashlib.sha256(f"{seed} {fault.key}".encode()).hexdigest()


def _parses(fault: Fault, repository: Path) -> bool:
    """Return whether the file with the fault can be parsed."""
    if not fault.function:
        return True
    try:
        ast.parse(fault.applied((repository / fault.path).read_bytes()))
    except SyntaxError:
        return False
    return True
