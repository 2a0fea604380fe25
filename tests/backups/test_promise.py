"""The promises of docs/upgrading.md hold for the data and names of 1.0.0 (made by
tests/backups/promise.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.backups import promise


def stored(name: str) -> Any:
    return json.loads((promise.PROMISE / name).read_text(encoding="utf-8"))


def lost(before: Any, now: Any, where: str = "") -> list[str]:
    """Return the places where `now` lacks a field, or has another kind of value."""
    if isinstance(before, dict) and isinstance(now, dict):
        gone = [f"{where}.{key}" for key in before if key not in now]
        return gone + [
            line for key in before if key in now for line in lost(before[key], now[key], f"{where}.{key}")
        ]
    if isinstance(before, list) and isinstance(now, list):
        return lost(before[0], now[0], f"{where}[]") if before and now else []
    known = before is not None and now is not None
    return [f"{where}: {now!r}, was {before!r}"] if known and type(before) is not type(now) else []


@pytest.mark.slow
def test_a_backup_of_1_0_0_is_restored_and_gives_the_same(tmp_path: Path) -> None:
    """Costs a restore, three exports and four rankings in a process of its own; the other two are quick."""
    before, now = stored(promise.OBSERVED), promise.restored(promise.PROMISE / promise.BACKUP, tmp_path)
    assert now["exports"] == before["exports"]
    assert now["rankings"] == before["rankings"]
    # Rows that a restore and its inspection add are not compared.
    added = {"annotation.AuditEntry", "annotation.PeriodicRun"}
    assert {name: now["rows"].get(name) for name in before["rows"] if name not in added} == {
        name: count for name, count in before["rows"].items() if name not in added
    }
    for call, answer in before["answers"].items():
        assert now["answers"][call]["status"] == answer["status"], call
        assert lost(answer["body"], now["answers"][call]["body"], call) == []


@pytest.mark.django_db
def test_what_1_0_0_exported_is_imported(tmp_path: Path) -> None:
    from django.core.management import call_command as run

    source = tmp_path / "corpus.jsonl"
    source.write_bytes((promise.PROMISE / promise.DATASET).read_bytes())
    run("import_corpus", "walks", source, format="jsonl")
    run("export_dataset", "walks", format="jsonl", layer="import", out=tmp_path / "again")
    assert (tmp_path / "again" / "corpus.jsonl").read_bytes() == source.read_bytes()


@pytest.mark.django_db
def test_no_name_of_1_0_0_is_gone() -> None:
    before, now = stored(promise.NAMES), promise.names()
    gone = [
        f"{group}: {name} {part}".strip()
        for group, names in before.items()
        for name, parts in names.items()
        for part in (parts if name in now[group] else [""])
        if name not in now[group] or part not in now[group][name]
    ]
    assert gone == []
