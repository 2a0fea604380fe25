"""Record responses of valid calls as the OpenAPI document's examples.

`python -m tests.api.v1.recording` makes every valid call and writes the responses of `RECORDED`, each to the
file of the operation's app. Lists of records are cut to two rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
#: The operations with example responses: the lists and details that programs read most, and the plans.
RECORDED = frozenset(
    {
        *("list_campaigns", "campaign_status", "plan_campaign", "list_control_items"),
        *("list_corpora", "show_corpus", "list_images", "list_layers"),
        *("list_workers", "show_worker", "list_jobs", "show_job", "show_me"),
        *("list_batches", "batch_status", "plan_batch", "list_reports", "show_report"),
        *("list_runs", "show_run", "list_systems", "show_system", "list_qrels", "show_qrels"),
    }
)
#: Operation -> the response recorded in this session.
_RECORDED: dict[str, dict[str, Any]] = {}


def record(app: str, name: str, body: Any) -> None:
    """Record the response of an app's operation if it is one of `RECORDED`."""
    if name in RECORDED:
        _RECORDED.setdefault(app, {})[name] = _short(body)


def answers_file(app: str) -> Path:
    """Return the file of an app's responses."""
    return ROOT / app / "operations" / "answers.json"


def _short(value: Any) -> Any:
    """Return a value with two rows per list at most, and with an example address."""
    if isinstance(value, dict):
        return {name: _short(held) for name, held in value.items()}
    if isinstance(value, list):
        rows = value[:2] if value and isinstance(value[0], dict) else value
        return [_short(row) for row in rows]
    if isinstance(value, str):
        return value.replace("http://testserver", "https://phrasebox.example")
    return value


def pytest_sessionfinish() -> None:
    """Write the recorded responses."""
    for app, answers in _RECORDED.items():
        text = json.dumps(dict(sorted(answers.items())), indent=1, ensure_ascii=False)
        answers_file(app).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    test = "tests/api/v1/test_operations.py::test_every_operation_succeeds_as_the_document_says"
    sys.exit(pytest.main(["-q", "-p", "tests.api.v1.recording", test]))
