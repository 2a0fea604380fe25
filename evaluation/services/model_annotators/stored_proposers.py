"""Proposers that are trained on a corpus and stored under a name, as starting points for campaigns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from django.conf import settings as django_settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.locks import locked_folder
from annotation.common.operations import Help, Named, OperationContext, invalid
from annotation.datasets.layers import layer_to_read
from annotation.selectors.corpora import CORPORA, corpus_named
from annotation.selectors.records import stream_records
from evaluation.services.common import InputError, recover_folder, replace_folder
from evaluation.services.model_annotators.examples import pictures_on_disk, training_pictures
from evaluation.services.phases import PhaseShares
from evaluation.services.request_fields import LayerField
from evaluation.services.systems.sources import DeviceField
from models_core.storage import BadModel, read_manifest
from phrasebox.device import CPU, torch_for

if TYPE_CHECKING:
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,60}")
TrainingProgress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainProposerRequest:
    """A proposer learns from the phrases and boxes of a layer where boxes are and which of them people
    accept, and is stored; a campaign refers to it in its settings."""

    name: Annotated[str, Named(max_length=60), Help(_("Name"))]
    corpus: Annotated[str, Named(CORPORA), Help(_("Corpus"))]
    layer: Annotated[LayerField, Help(_("Layer with boxes"), _("Else the only one"))] = ""
    split: Annotated[
        str, Field(max_length=200), Help(_("Split"), _("Only images of this split; else all"))
    ] = ""
    epochs: Annotated[
        Annotated[int, Field(ge=1, le=10_000)] | None,
        Help(_("Passes over the pictures"), _("By default as many as usual")),
    ] = None
    seed: Annotated[int, Field(ge=0, lt=10**9), Help(_("Seed"))] = 0
    device: DeviceField = CPU
    replace: Annotated[bool, Help(_("Replace a stored one of that name"))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedProposer:
    """A stored proposer; `unreadable` is the number of skipped pictures."""

    name: str
    corpus: str
    layer: str
    images: int
    unreadable: int


def proposer_folder(name: str) -> Path:
    """Return the folder of the stored proposer `name`. Raises InputError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"proposer {name!r}: expected a name of at most 60 letters, digits, hyphens or underscores"
        )
    return Path(django_settings.DATA_DIR) / "proposers" / name


def stored_proposer(name: str) -> BoxProposer:
    """Load the stored proposer `name`; raises InputError listing the existing ones."""
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer

    folder = proposer_folder(name)
    if not folder.is_dir():
        raise InputError(
            f"no proposer {name!r} is stored; there is "
            f"{', '.join(_stored_names()) or 'none: train one first'}"
        )
    return BoxProposer.load(folder)


def proposer_digest(name: str) -> str:
    """Return the SHA-256 of the stored proposer, "" if there is none that can be read."""
    try:
        return str(read_manifest(proposer_folder(name))["sha256"])
    except (BadModel, InputError, OSError):
        return ""


def why_no_proposer(name: str) -> str:
    """Return why a campaign's model annotator cannot start from the proposer `name` (it is not stored); ""
    if it can, and where the name is empty."""
    if not name or name in _stored_names():
        return ""
    known = ", ".join(_stored_names()) or gettext("none")
    return gettext("Model annotators: no proposer “%(name)s” is stored. Stored: %(known)s.") % {
        "name": name[:60],
        "known": known,
    }


def _stored_names() -> list[str]:
    folder = Path(django_settings.DATA_DIR) / "proposers"
    return (
        sorted(folder_of_proposer.name for folder_of_proposer in folder.glob("[!.]*"))
        if folder.is_dir()
        else []
    )


def train_proposer(request: TrainProposerRequest, context: OperationContext) -> TrainedProposer:
    """Train on a layer of a corpus, and store the proposer as a starting point for campaigns.

    Pictures that cannot be read are skipped and counted. Raises Invalid if the name is taken, InputError,
    UnknownName, NothingToLearn, NoDevice, and Busy.
    """
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer
    from models_core.estimators.neural.proposer.training import ProposerSettings

    name, corpus, progress = request.name, request.corpus, PhaseShares(context.report_progress)
    folder = proposer_folder(name)
    with locked_folder(
        f"proposer.{name}", busy=f"proposer {name!r} is being trained; wait for the end of that"
    ) as work:
        recover_folder(folder)
        if folder.exists() and not request.replace:
            raise invalid("name", "taken", value=name)
        corpus_row = corpus_named(corpus)
        source = layer_to_read(corpus_row, request.layer or None)
        if source is None:
            raise InputError(f"corpus {corpus!r} has no layer; import or draw boxes first")
        usual = ProposerSettings()
        settings = usual if request.epochs is None else usual.lasting(request.epochs)
        torch_for(request.device)  # fail before all pictures are read
        images = corpus_row.images.count()
        records = stream_records(corpus=corpus_row, layer=source, split=request.split or None)
        unreadable: list[str] = []
        with pictures_on_disk(
            training_pictures(records, settings.side, unreadable=unreadable.append),
            work,
            report_progress=lambda done: progress("reading pictures", done, images),
        ) as pictures:
            proposer = BoxProposer(settings).fit(
                pictures,
                seed=request.seed,
                device=request.device,
                report_progress=lambda done, of: progress("learning from pictures", done, of),
            )
        # Complete before the old one is removed.
        metadata = {"corpus": corpus, "layer": source.name, "images": len(pictures), "seed": request.seed}
        proposer.save(work / name, metadata)
        replace_folder(work / name, folder)
    return TrainedProposer(
        name=name, corpus=corpus, layer=source.name, images=len(pictures), unreadable=len(unreadable)
    )


def trained_proposer_text(trained: TrainedProposer) -> str:
    """Return, in words, what the proposer was trained on."""
    return (
        f"proposer {trained.name} learned from {trained.images} images of corpus {trained.corpus} "
        f"(layer {trained.layer})"
        + (f"; {trained.unreadable} pictures cannot be read" if trained.unreadable else "")
    )
