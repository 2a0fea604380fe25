"""Training a model annotator of a campaign, and proposing boxes in the unfinished images.

It is trained on the chains with boxes of the campaign (`annotation.campaigns.training`). Training continues
from its last result; the first run starts from a stored proposer if the campaign names one
(`model_annotator.system`). Until enough images have boxes (`model_annotator.from_images`), a stored proposer
is used unchanged. Its boxes are stored as proposals; `annotation.queue.model_answers` then answers with them.
The result is stored until the next training: it gives boxes for images that are opened meanwhile or come into
the annotator's share.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings as django_settings

from annotation.campaigns import campaign_named, model_annotators
from annotation.campaigns.training import training_records
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.model_annotators import Proposals, learns_now
from annotation.protocol.terms import ImageRecord, Mention
from annotation.queue import model_answers, submission
from annotation.selectors.model_annotators.proposals import model_at_work
from evaluation.services.model_annotators.examples import (
    Unreadable,
    pictures_on_disk,
    proposals_of,
    training_pictures,
)
from evaluation.services.model_annotators.stored_proposers import (
    TrainingProgress,
    proposer_digest,
    stored_proposer,
)
from models_core.storage import BadModel, read_manifest
from phrasebox.device import CPU, torch_for

if TYPE_CHECKING:
    from annotation.campaigns.model_annotators import Campaign, ModelAnnotator
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer

_log = logging.getLogger(__name__)

#: Number of images, in the order of the corpus, that get proposals before a training run counts.
#: `propose_boxes` handles the others, which may take hours; it continues where it was interrupted.
PROPOSED_BY_TRAINING = 500


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """The result of a training run: the model annotator's version, the number of finished images it was
    trained on (0: it is the stored proposer unchanged), of images with boxes, of images skipped because their
    picture cannot be read, and of questions it answered at once. `replaced` names the file whose boxes these
    replace, "" for none."""

    model_annotator: str
    version: int
    learned: int
    source: str
    images: int
    unreadable: int
    answers: int
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class ProposedFor:
    """The number of further images with boxes, of images skipped because their picture cannot be read, and of
    questions that the model annotator answered at once."""

    model_annotator: str
    version: int
    images: int
    unreadable: int
    answers: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for a job's result."""
        return asdict(self)


def train_model_annotator(
    *,
    campaign: str,
    model_annotator: str,
    replaces_file: bool = True,
    restart: bool = False,
    device: str = CPU,
    report_progress: TrainingProgress = lambda phase, done, of: None,
) -> TrainingReport:
    """Train a model annotator on the finished images, store its proposals, and let it answer.

    Training continues from its last result; with `restart` it starts from the stored proposer that the
    campaign names, or from scratch. The run counts once its proposals are stored: until then the model
    annotator is unchanged. Pictures that cannot be read are skipped and counted. Raises CampaignError if
    too few images are finished and the campaign names no stored proposer, and for a model annotator whose
    boxes come from a file unless `replaces_file`; InputError for a proposer that is not stored,
    NothingToLearn, NoDevice, and Busy.
    """
    row = campaign_named(campaign)
    annotator = model_annotators.model_annotator_named(row, model_annotator)
    with model_annotators.training_run(annotator) as (version, work):
        if annotator.external and not replaces_file:
            raise CampaignError(
                f"the boxes of model annotator {annotator.name!r} come from {annotator.source}, so it does "
                "not learn by itself; training it replaces them"
            )
        replaced = annotator.source if annotator.external else ""
        finished = training_records.count_training_images(row)
        unreadable: set[str] = set()
        training = _TrainingRun(version, work, device, report_progress, unreadable.add)
        begun = _beginning(annotator)
        proposer, source, learned = _trained_proposer(annotator, finished, training, begun, restart=restart)
        images = finished if learned else 0
        _save_proposer(proposer, annotator, version, begun=begun, as_stored=not learned)
        count = _propose(
            proposer,
            annotator,
            model_annotators.images_to_propose(row)[:PROPOSED_BY_TRAINING],
            version=version,
            unreadable=unreadable.add,
            report_progress=partial(report_progress, "proposing"),
        )
        # From here on the training run counts: no exception of a callback may stop it.
        model_annotators.record_training(annotator, images=images, source=source)
        _forget_others(annotator)
    answers = _take_turns(annotator)
    return TrainingReport(
        annotator.name,
        annotator.version,
        images,
        source,
        count,
        len(unreadable),
        answers,
        replaced,
    )


def propose_boxes(
    *, campaign: str, model_annotator: str, report_progress: TrainingProgress = lambda phase, done, of: None
) -> ProposedFor:
    """Store a model annotator's boxes for the images for which its version has no proposals yet, and let it
    answer.

    Pictures that cannot be read are skipped and counted; they are tried again after the next training run.
    Raises CampaignError for a model annotator without a usable stored proposer, and Busy.
    """
    row = campaign_named(campaign)
    annotator = model_annotators.model_annotator_named(row, model_annotator)
    with model_annotators.training_run(annotator):
        folder = version_folder(annotator, annotator.version)
        if annotator.external or not folder.is_dir():
            raise CampaignError(
                f"model annotator {annotator.name!r} has no proposer that could propose for further "
                "images: its boxes come from elsewhere, or it has not learned yet; train it"
            )
        from models_core.estimators.neural.proposer.box_proposer import BoxProposer

        try:
            proposer = BoxProposer.load(folder)
        except BadModel as error:
            _log.warning("model annotator %s: %s", annotator.name, error)
            raise CampaignError(
                f"what model annotator {annotator.name!r} learned last cannot be used: it is damaged, or of "
                "another version "
                "of this program; train it"
            ) from error
        unreadable: set[str] = set()
        count = _propose(
            proposer,
            annotator,
            model_annotators.images_to_propose(row, lacking=annotator),
            version=annotator.version,
            unreadable=unreadable.add,
            report_progress=partial(report_progress, "proposing for further images"),
        )
    answers = _take_turns(annotator)
    return ProposedFor(annotator.name, annotator.version, count, len(unreadable), answers)


def version_folder(annotator: ModelAnnotator, version: int) -> Path:
    """Return the folder of a model annotator's training result in this version."""
    return Path(django_settings.DATA_DIR) / "model_annotators" / str(annotator.pk) / str(version)


def _take_turns(annotator: ModelAnnotator) -> int:
    """Let a model annotator answer, if it is the campaign's active one; return the number of questions
    answered."""
    if model_at_work(annotator.campaign_id) != annotator:
        return 0
    return model_answers.answer_waiting_images(annotator.campaign, submission.submit)


class _Beginning(NamedTuple):
    """The stored proposer from which a model annotator's training starts: its name ("": from scratch), and
    its digest ("" if it is unknown, or nothing is stored)."""

    name: str
    digest: str


def _beginning(annotator: ModelAnnotator) -> _Beginning:
    """Return where training of the campaign's model annotators starts under its current settings."""
    name = settings_of(annotator.campaign.settings).model_annotator.system
    return _Beginning(name, proposer_digest(name) if name else "")


def _save_proposer(
    proposer: BoxProposer, annotator: ModelAnnotator, version: int, *, begun: _Beginning, as_stored: bool
) -> None:
    folder = version_folder(annotator, version)
    if folder.exists():
        shutil.rmtree(folder)  # left by a killed training run
    metadata = {"campaign": annotator.campaign.name, "model_annotator": annotator.name, "version": version}
    last = _metadata(annotator)
    # Keep the digest of a stored proposer that no longer exists.
    before = last.get("begun_digest", "") if last.get("begun_from") == begun.name else ""
    began = {"begun_from": begun.name, "begun_digest": begun.digest or before, "as_stored": as_stored}
    proposer.save(folder, {**metadata, **began})


def _began_with(annotator: ModelAnnotator, begun: _Beginning) -> bool | None:
    """Whether the model annotator's training started there: from a proposer of this name that, as far as both
    digests are known, was not replaced since. None if that is unknown."""
    metadata = _metadata(annotator)
    if metadata.get("begun_from") is None:
        return None
    known = metadata.get("begun_digest")
    return metadata["begun_from"] == begun.name and (not known or not begun.digest or known == begun.digest)


def _metadata(annotator: ModelAnnotator) -> Mapping[str, Any]:
    """Return the metadata stored with a model annotator's last training result."""
    try:
        return read_manifest(version_folder(annotator, annotator.version)).get("metadata") or {}
    except (BadModel, OSError):
        return {}


def _learned_last(annotator: ModelAnnotator, begun: _Beginning) -> BoxProposer | None:
    """Load a model annotator's last training result, if its training started there and this version of the
    program can read it."""
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer

    folder = version_folder(annotator, annotator.version)
    if annotator.external or not folder.is_dir():
        return None
    try:
        return BoxProposer.load(folder) if _began_with(annotator, begun) else None
    except BadModel as error:
        _log.warning("model annotator %s learns from the beginning: %s", annotator.name, error)
        return None


def _forget_others(annotator: ModelAnnotator) -> None:
    """Remove the results of earlier versions except the previous one: a running backup may have copied the
    database when that one counted."""
    current = version_folder(annotator, annotator.version)
    retained = {current, version_folder(annotator, annotator.version - 1)}
    for folder in current.parent.iterdir():
        if folder not in retained:
            shutil.rmtree(folder)


def forget_deleted() -> int:
    """Remove the training results of model annotators that were deleted with their campaigns; return their
    number."""
    folder = Path(django_settings.DATA_DIR) / "model_annotators"
    folders = (
        {annotator_folder.name: annotator_folder for annotator_folder in folder.iterdir()}
        if folder.is_dir()
        else {}
    )
    gone = set(folders) - model_annotators.known_model_annotators() if folders else set()
    for name in gone:
        shutil.rmtree(folders[name], ignore_errors=True)
    return len(gone)


def _propose(
    proposer: BoxProposer,
    annotator: ModelAnnotator,
    images: Sequence[int],
    *,
    version: int,
    unreadable: Unreadable,
    report_progress: Callable[[int, int], object],
) -> int:
    """Store a proposer's boxes in these images (ids); return for how many it has any. For the others an empty
    proposal is stored, so that they are not tried again. `report_progress` is called before each image."""
    silent: set[str] = set()

    def noted() -> Iterator[tuple[ImageRecord, Sequence[Mention]]]:
        records = model_annotators.records_to_propose(annotator.campaign, images)
        for done, (record, mentions) in enumerate(records):
            report_progress(done, len(images))
            silent.add(record.id)
            yield record, mentions

    def proposals_of_images() -> Iterator[tuple[str, Proposals]]:
        for image, proposals in proposals_of(proposer, noted(), unreadable=unreadable):
            silent.discard(image)
            yield image, proposals

    count = model_annotators.store_proposals(annotator, proposals_of_images(), version=version)
    model_annotators.store_proposals(annotator, ((image, {}) for image in sorted(silent)), version=version)
    return count


@dataclass(frozen=True, slots=True)
class _TrainingRun:
    """A running training: the version that it creates, a folder for temporary files, the device, and the
    progress callback."""

    version: int
    folder: Path
    device: str
    report_progress: TrainingProgress
    unreadable: Unreadable


def _trained_proposer(
    annotator: ModelAnnotator, finished: int, training: _TrainingRun, begun: _Beginning, *, restart: bool
) -> tuple[BoxProposer, str, bool]:
    """Return the proposer of the new version, a description of what it was trained on, and whether it was
    trained in this campaign: otherwise it is the stored proposer unchanged."""
    row = annotator.campaign
    settings = settings_of(row.settings).model_annotator
    last = None if restart else _learned_last(annotator, begun)
    if finished >= settings.from_images:
        begin = last
        if begin is None and settings.system:
            begin = stored_proposer(settings.system)
        return (
            _learned(row, begin, finished, training),
            f"{finished} finished images"
            + (f", from proposer {settings.system} on" if settings.system else ""),
            True,
        )
    # What a model annotator has learned in this campaign is not replaced by its starting point.
    if settings.system and (last is None or _metadata(annotator).get("as_stored")):
        return stored_proposer(settings.system), f"proposer {settings.system}", False
    raise CampaignError(
        f"campaign {row.name!r} has {finished} finished images, and a model annotator learns from "
        f"{settings.from_images} on; wait, lower that number in the settings, or "
        + (
            "start again from the stored proposer"
            if settings.system
            else "name a stored proposer in the settings"
        )
    )


def model_annotators_to_train() -> list[tuple[Campaign, str]]:
    """Return (campaign, model annotator) for those due for training, by their campaigns' settings; none whose
    boxes come from a file."""
    due = []
    for row in model_annotators.campaigns_with_model_annotators():
        annotator = model_at_work(row.pk)
        if annotator is None or annotator.external:
            continue
        settings, finished = (
            settings_of(row.settings).model_annotator,
            training_records.count_training_images(row),
        )
        if learns_now(settings, finished=finished, learned=annotator.learned) or (
            # The starting point was changed: the change takes effect now.
            annotator.learned is not None
            and (settings.system or finished >= settings.from_images)
            and _began_with(annotator, _beginning(annotator)) is False
        ):
            due.append((row, annotator.name))
    return due


def model_annotators_to_propose() -> list[tuple[Campaign, str]]:
    """Return (campaign, model annotator) for those that lack boxes for images of their share and have a
    stored training result."""
    lacking = []
    for row in model_annotators.campaigns_with_model_annotators():
        annotator = model_at_work(row.pk)
        # A result that cannot be read is of no use: training has to come first.
        if annotator is None or annotator.external or not _metadata(annotator):
            continue
        if model_annotators.lacks_proposals(annotator):
            lacking.append((row, annotator.name))
    return lacking


def _learned(row: Campaign, begin: BoxProposer | None, finished: int, training: _TrainingRun) -> BoxProposer:
    """Train a proposer on a campaign's chains with boxes; a part of the images whose boxes were judged last
    is held out, as in earlier training runs."""
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer
    from models_core.estimators.neural.proposer.training import ProposerSettings

    torch_for(training.device)  # fail before all pictures are read
    settings = begin.settings if begin is not None else ProposerSettings()
    records = training_records.training_records_of(row)
    with pictures_on_disk(
        training_pictures(records, settings.side, unreadable=training.unreadable),
        training.folder,
        report_progress=lambda done: training.report_progress("reading pictures", done, finished),
    ) as pictures:
        judged = training_records.first_verdicts(row)
        pictures.sort(key=lambda picture: judged.get(picture.image, len(judged)))
        learned = BoxProposer(settings).learned_from(pictures)
        return BoxProposer(settings).fit(
            pictures,
            seed=row.seed + training.version - 1,
            begin=begin,
            device=training.device,
            report_progress=partial(training.report_progress, "learning from finished images"),
            steps=settings.training_steps(learned, from_scratch=begin is None),
        )
