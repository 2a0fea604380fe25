"""The registry of systems: rows are created when systems are trained or added, and removed when nothing
depends on them.

A stored system without a row, whose folder was copied here or whose training was killed at its end, gets one
from its manifest the next time somebody opens the list, ranks with it or trains it again
(`register_unlisted_systems`).
"""

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from annotation import audit
from annotation.common.operations import OperationContext, StoredKind
from annotation.selectors.corpora import corpus_named, row_named
from evaluation.comparison.provenance import Hashes
from evaluation.models import System
from evaluation.models.stored import SystemOutput
from evaluation.selectors import run_named
from evaluation.services.common import InputError
from evaluation.services.stored import remove_stored
from evaluation.services.stored_kinds import rows_of_corpora
from evaluation.services.systems.folders import system_folder, training_folder
from evaluation.services.systems.origins.base import of_stored
from evaluation.services.systems.origins.runs import RUNS
from evaluation.services.systems.training_images import SEEN_FACT, enter_declaration, enter_seen_images
from evaluation.services.unfinished import remove_unfinished_of_system
from models_core import storage
from phrasebox.registry import UnknownName

_log = logging.getLogger(__name__)

#: The value of `format` for runs that our systems produced.
BY_SYSTEM = "system"
#: Keys of a manifest's metadata that have columns of their own.
_COLUMNS = ("files", "seed", "versions", "corpus", "trained_on", SEEN_FACT)
_NAME = re.compile(r"[-a-zA-Z0-9_]{1,100}")


class RequestedBy(NamedTuple):
    """The account and the job that requested an operation, as row ids; None for a command."""

    job: int | None = None
    account: int | None = None


BY_COMMAND = RequestedBy()


def requested_by(context: OperationContext) -> RequestedBy:
    """Return the account and the job that requested an operation."""
    job = context.progress.job_id if context.progress is not None else None
    return RequestedBy(job, context.actor.pk if context.actor is not None else None)


def register_stored_system(name: str, requester: RequestedBy = BY_COMMAND) -> System:
    """Return the row of the stored system `name`, created from its manifest where there is none.

    If the row has no requester, it is set: `register_unlisted_systems` may have created the row before the
    training did. Raises BadModel, and UnknownName if its corpus no longer exists or its kind is unknown.
    """
    manifest = storage.read_manifest(system_folder(name))
    origin = of_stored(manifest["kind"])
    if origin is None:
        raise UnknownName(
            f"{system_folder(name)} contains a model of kind {manifest['kind']!r}, which cannot rank; choose "
            "another system"
        )
    metadata: Mapping[str, Any] = manifest.get("metadata", {})
    settings_stored = manifest["settings"]
    recipe = settings_stored.get("recipe", {})
    when = datetime.fromtimestamp((system_folder(name) / storage.MANIFEST).stat().st_mtime, UTC)
    values = {
        "corpus": corpus_named(str(metadata.get("corpus", ""))),
        "origin": origin.key,
        "recipe": str(recipe.get("name", "")),
        "settings": {
            **{key: settings_stored[key] for key in ("recipe", "cosine") if key in settings_stored},
            **{key: value for key, value in metadata.items() if key not in _COLUMNS},
        },
        "seed": metadata.get("seed"),
        "sources": metadata.get("files", {}),
        "versions": {**manifest.get("made_with", {}), **metadata.get("versions", {})},
        "digest": manifest["sha256"],
        "trained_on": metadata.get("trained_on", ""),
        "job_id": requester.job,
        "created_by_id": requester.account,
        "created_at": when,
    }
    with transaction.atomic():
        system, new = System.objects.get_or_create(name=name, defaults=values)
        if new:
            enter_seen_images(system, metadata)
            note_addition("add_system", requester, system=name, corpus=system.corpus.name)
        elif system.job_id is None and system.created_by_id is None and requester != BY_COMMAND:
            system.job_id, system.created_by_id = requester
            system.save(update_fields=["job", "created_by"])
    return system


def note_addition(act: str, requester: RequestedBy, **about: Any) -> None:
    """Write to the audit log who added something that others can see from now on."""
    actor = (
        get_user_model()._default_manager.filter(pk=requester.account).first() if requester.account else None
    )
    audit.record(actor=actor, act=act, **about)


def register_unlisted_systems() -> None:
    """Create rows for stored systems that have none; damaged ones, and those of a removed corpus, are
    skipped.

    So is a folder whose name cannot be a system's: it is somebody's copy, and no page could link to it.
    """
    folders = system_folder("x").parent.glob(f"[!.]*/{storage.MANIFEST}")
    known = set(System.objects.values_list("name", flat=True))
    for name in sorted({file.parent.name for file in folders} - known):
        if not _NAME.fullmatch(name):
            continue
        try:
            register_stored_system(name)
        except (storage.BadModel, UnknownName):
            continue
        except Exception:  # one unforeseen folder must not break the pages of all others
            _log.exception("%s could not be registered as a system", system_folder(name))


def _systems(account: Any, *roles: str) -> QuerySet[Any]:
    register_unlisted_systems()
    return rows_of_corpora(System)(account, *roles)


#: Systems, as objects that requests refer to.
SYSTEMS = StoredKind(_("system"), _systems)


def system_row(name: str) -> System:
    """Return the system `name`; raises UnknownName listing what exists."""
    register_unlisted_systems()
    return row_named(System.objects.select_related("corpus"), name)


def check_free(name: str, corpus: str, origin: str) -> None:
    """Raise InputError if a system of another origin or corpus has the name."""
    existing = System.objects.select_related("corpus").filter(name=name).first()
    if existing is not None and (existing.origin, existing.corpus.name) != (origin, corpus):
        raise InputError(f"system {name!r} already exists with another corpus or origin; choose another name")


def check_declaration(tag: str, corpus: str, trained_on: str) -> None:
    """Raise InputError if `trained_on` cannot be declared for the system `tag` of imported output."""
    if not trained_on:
        return
    if not _NAME.fullmatch(tag):
        raise InputError(
            f"what {tag!r} was trained on is stored with a system; name the system with letters, digits, "
            "hyphens or underscores"
        )
    existing = System.objects.select_related("corpus").filter(name=tag).first()
    if existing is not None and (
        (existing.origin, existing.corpus.name) != (RUNS, corpus)
        or existing.trained_on not in ("", trained_on)
    ):
        raise InputError(
            f"system {tag!r} already exists with another origin, corpus or training; leave out what it was "
            "trained on, or name another system"
        )


def link_output(
    row: SystemOutput,
    tag: str,
    requester: RequestedBy = BY_COMMAND,
    *,
    trained_on: str = "",
    images: Hashes | None = None,
) -> None:
    """Register `tag` as the system that produced imported output, if it can be a system's name.

    An existing system of that name and corpus is used; if it is of another corpus, the output has no system.
    `trained_on` is its declaration (see `check_declaration`), and `images` those that the declaration names.
    Raises InputError if the declaration is for another system than the one that made the output.
    """
    if not _NAME.fullmatch(tag):
        return
    register_unlisted_systems()
    if trained_on and row.made_by is not None and row.made_by.name != tag:
        raise InputError(
            f"{row.name!r} was made by system {row.made_by.name!r}, not by {tag!r}; name that one to declare "
            "what it was trained on"
        )
    if row.made_by_id is None:
        system, _new = System.objects.get_or_create(
            name=tag,
            defaults={
                "corpus": row.corpus,
                "origin": RUNS,
                "job_id": requester.job,
                "created_by_id": requester.account,
            },
        )
        if system.corpus_id == row.corpus_id:
            row.made_by = system
            row.save(update_fields=["made_by"])
    if trained_on:
        with transaction.atomic():
            system = System.objects.select_for_update().get(name=tag)
            if not system.trained_on:
                system.trained_on = trained_on
                system.save(update_fields=["trained_on"])
                enter_declaration(system, images)


def remove_run(*, name: str, actor: Any = None) -> None:
    """Remove a run and its rankings; raises PhraseboxError if a batch or a report was made from it."""
    remove_stored(run_named(name), actor)


def remove_system(*, name: str, actor: Any = None) -> None:
    """Remove a system and its files. Raises PhraseboxError if it has runs or sets, Busy while one is
    written."""
    row = system_row(name)
    remove_unfinished_of_system(row)
    remove_stored(row, actor, folders=(system_folder(name), training_folder(name)))
