"""The registry of systems: entered when they are trained or brought.

What was trained before there was a registry is entered by its manifest the first time that somebody
looks at the list or ranks by it (`adopt`), with the runs that it made.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from annotation.registry import UnknownName
from annotation.selectors.corpora import corpus_named
from evaluation.models import Run, System
from models_core import storage

#: What runs that our systems made have for their format.
MADE_HERE = "system"
#: What a manifest calls a system by recipe, and of its facts what the registry has columns for.
TRAINED = "system"
_COLUMNS = ("files", "seed", "versions", "corpus")


class Wanted(NamedTuple):
    """Who wanted something made, and by which job: ids of rows, None where it was a command."""

    job: int | None = None
    account: int | None = None


BY_COMMAND = Wanted()


def folder_of(name: str) -> Path:
    """Where what is kept of the system `name` is, or will be."""
    return Path(settings.DATA_DIR) / "systems" / name


def enter_trained(name: str, wanted: Wanted = BY_COMMAND) -> System:
    """The row of the stored system `name`, made from its manifest where there is none.

    Raises BadModel, and UnknownName where its corpus is gone.
    """
    manifest = storage.read_manifest(folder_of(name))
    facts: Mapping[str, Any] = manifest.get("facts", {})
    recipe = manifest["settings"].get("recipe", {})
    made = datetime.fromtimestamp((folder_of(name) / storage.MANIFEST).stat().st_mtime, UTC)
    system, _ = System.objects.get_or_create(
        name=name,
        defaults={
            "corpus": corpus_named(str(facts.get("corpus", ""))),
            "origin": "recipe",
            "recipe": str(recipe.get("name", "")),
            "settings": {
                "recipe": recipe,
                **{key: value for key, value in facts.items() if key not in _COLUMNS},
            },
            "seed": facts.get("seed"),
            "sources": facts.get("files", {}),
            "versions": {**manifest.get("made_with", {}), **facts.get("versions", {})},
            "digest": manifest["sha256"],
            "job_id": wanted.job,
            "created_by_id": wanted.account,
            "created_at": made,
        },
    )
    return system


def adopt() -> None:
    """Enter what was trained before there was a registry, and link its runs; what is damaged stays out."""
    folders = folder_of("x").parent.glob(f"[!.]*/{storage.MANIFEST}")
    known = set(System.objects.values_list("name", flat=True))
    for name in sorted({file.parent.name for file in folders} - known):
        try:
            if storage.read_manifest(folder_of(name))["kind"] == TRAINED:
                system = enter_trained(name)
                its = Run.objects.filter(
                    made_by=None, format=MADE_HERE, source__startswith=f"system {name}, "
                )
                its.update(made_by=system, system_digest=system.digest)
        except (storage.BadModel, UnknownName):
            continue
