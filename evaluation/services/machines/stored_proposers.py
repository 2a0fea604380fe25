"""Proposers that are taught from a corpus and stored under a name, for campaigns to begin from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings as django_settings
from django.utils.translation import gettext as _

from annotation.common.locks import exclusive_folder
from annotation.datasets.layers import layer_to_read
from annotation.selectors.corpora import corpus_named
from annotation.selectors.records import stream_records
from evaluation.services.common import ImportRefused, recover_folder, replace_folder
from evaluation.services.machines.examples import pictures_on_disk, taught_pictures
from models_core.device import CPU, torch_for
from models_core.storage import BadModel, read_manifest

if TYPE_CHECKING:
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,60}")
LessonTold = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class Lesson:
    """How a proposer is taught: how often it learns from each picture (None: as often as usual), by which
    dice, and where it computes (see `models_core.device`)."""

    epochs: int | None = None
    seed: int = 0
    device: str = CPU


def proposer_folder(name: str) -> Path:
    """Where the stored proposer `name` is. Raises ImportRefused for a name that cannot be."""
    if not _NAME.fullmatch(name):
        raise ImportRefused(
            f"proposer {name!r}: expected a name of at most 60 letters, digits, hyphens or underscores"
        )
    return Path(django_settings.DATA_DIR) / "proposers" / name


def stored_proposer(name: str) -> BoxProposer:
    """The stored proposer `name`; ImportRefused names those that there are."""
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer

    folder = proposer_folder(name)
    if not folder.is_dir():
        raise ImportRefused(
            f"no proposer {name!r} is stored; there is "
            f"{', '.join(_stored_names()) or 'none: train one first'}"
        )
    return BoxProposer.load(folder)


def proposer_digest(name: str) -> str:
    """The SHA-256 of what is stored under a name, "" where nothing is that can be read."""
    try:
        return str(read_manifest(proposer_folder(name))["sha256"])
    except (BadModel, ImportRefused, OSError):
        return ""


def why_no_proposer(name: str) -> str:
    """Why a campaign's machine cannot begin from the proposer `name`, which is not stored; "" where it can,
    and where the name is empty."""
    if not name or name in _stored_names():
        return ""
    known = ", ".join(_stored_names()) or _("none")
    return _("machine.system: no proposer “%(name)s” is stored. Stored: %(known)s.") % {
        "name": name[:60],
        "known": known,
    }


def _stored_names() -> list[str]:
    folder = Path(django_settings.DATA_DIR) / "proposers"
    return sorted(each.name for each in folder.glob("[!.]*")) if folder.is_dir() else []


def train_proposer(
    *,
    name: str,
    corpus: str,
    layer: str | None = None,
    split: str | None = None,
    lesson: Lesson | None = None,
    replace_old: bool = False,
    told: LessonTold = lambda phase, done, of: None,
) -> dict[str, Any]:
    """Learn from a layer of a corpus, and store what was learnt as `name`, for campaigns to begin from.

    Pictures that cannot be read are left out, and counted. Raises ImportRefused where the name is taken,
    UnknownName, NothingToLearn, NoDevice, and Busy.
    """
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer
    from models_core.estimators.neural.proposer.training import ProposerSettings

    folder = proposer_folder(name)
    with exclusive_folder(
        f"proposer.{name}", busy=f"proposer {name!r} is being taught; wait for the end of that"
    ) as work:
        recover_folder(folder)
        if folder.exists() and not replace_old:
            raise ImportRefused(f"a proposer {name!r} is stored already; give another name, or replace it")
        found = corpus_named(corpus)
        source = layer_to_read(found, layer)
        if source is None:
            raise ImportRefused(f"corpus {corpus!r} has no layer; import or draw boxes first")
        lesson = lesson or Lesson()
        settings = ProposerSettings() if lesson.epochs is None else ProposerSettings().lasting(lesson.epochs)
        torch_for(lesson.device)  # Before all pictures are read.
        images = found.images.count()
        records = stream_records(corpus=found, layer=source, split=split)
        unreadable: list[str] = []
        with pictures_on_disk(
            taught_pictures(records, settings.side, unreadable=unreadable.append),
            work,
            told=lambda done: told("reading pictures", done, images),
        ) as pictures:
            proposer = BoxProposer(settings).fit(
                pictures,
                seed=lesson.seed,
                device=lesson.device,
                told=lambda done, of: told("learning", done, of),
            )
        # Whole, before the old one goes.
        facts = {"corpus": corpus, "layer": source.name, "images": len(pictures), "seed": lesson.seed}
        proposer.save(work / name, facts)
        replace_folder(work / name, folder)
    return {
        "name": name,
        "corpus": corpus,
        "layer": source.name,
        "images": len(pictures),
        "unreadable": len(unreadable),
    }
