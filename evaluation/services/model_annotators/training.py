"""A model annotator of a campaign is trained, and says what it would draw in the images that are not
finished.

It learns from the chains with boxes of the campaign (`annotation.campaigns.training`). It goes on from what
it learnt last, and in its first training run from a stored proposer where the campaign names one
(`model_annotator.system`). Until so many images' worth has boxes (`model_annotator.from_images`), a stored
proposer is taken as it is. Its boxes are stored as proposals; from then on `annotation.queue.model_answers`
answers with them. What it learnt is kept until it learns again: images that are opened meanwhile, or come
into its share, get their boxes by that.
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

#: Images for which a training run proposes, in the order of the corpus, before it counts. The others get
#: their boxes by `propose_boxes`, which goes on where it was stopped: they may take hours.
PROPOSED_BY_TRAINING = 500


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """What became of a training run: the model annotator's version, how many finished images it learnt from
    (0: it is the stored proposer as it is), of how many it has boxes now, how many were left out because
    their picture cannot be read, and how many questions it answered at once. `replaced` names the file whose
    boxes these replace, "" where there was none."""

    model_annotator: str
    version: int
    learnt: int
    source: str
    images: int
    unreadable: int
    answers: int
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class ProposedFor:
    """For how many further images a model annotator has boxes now, how many were left out because their
    picture cannot be read, and how many questions it answered at once."""

    model_annotator: str
    version: int
    images: int
    unreadable: int
    answers: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for a job's result."""
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
    """Train a model annotator from what is finished, store its proposals, and let it take its turn.

    It goes on from what it learnt last, unless it is to `restart`: then from the stored proposer that the
    campaign names, or from nothing. The training run counts once its proposals are stored: until then the
    model annotator is what it was. Pictures that cannot be read are left out, and counted. Raises
    CampaignError where too few images are finished and the campaign names no stored proposer, and for a model
    annotator whose boxes come from a file, unless this `replaces_file`; InputError for a proposer that is not
    stored, NothingToLearn, NoDevice, and Busy.
    """
    row = campaign_named(campaign)
    annotator = model_annotators.model_annotator_named(row, model_annotator)
    with model_annotators.training_run(annotator) as (version, work):
        if annotator.from_file and not replaces_file:
            raise CampaignError(
                f"the boxes of model annotator {annotator.name!r} come from {annotator.source}, so it does "
                "not learn by itself; training it replaces them"
            )
        replaced = annotator.source if annotator.from_file else ""
        finished = training_records.count_training_images(row)
        unreadable: set[str] = set()
        training = _TrainingRun(version, work, device, report_progress, unreadable.add)
        begun = _beginning(annotator)
        proposer, source, learnt = _trained_proposer(annotator, finished, training, begun, restart=restart)
        images = finished if learnt else 0
        _save_proposer(proposer, annotator, version, begun=begun, as_stored=not learnt)
        count = _propose(
            proposer,
            annotator,
            model_annotators.images_to_propose(row)[:PROPOSED_BY_TRAINING],
            version=version,
            unreadable=unreadable.add,
            report_progress=partial(report_progress, "proposing"),
        )
        # From here on the training run counts: nothing may stop it that could be told.
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
    """Have a model annotator say what it would draw in the images for which its version proposed nothing yet,
    as it learnt last, and let it take its turn.

    Pictures that cannot be read are left out, and counted; they are tried again after the next training run.
    Raises CampaignError for a model annotator of which no proposer is kept that can be used, and Busy.
    """
    row = campaign_named(campaign)
    annotator = model_annotators.model_annotator_named(row, model_annotator)
    with model_annotators.training_run(annotator):
        folder = version_folder(annotator, annotator.version)
        if annotator.from_file or not folder.is_dir():
            raise CampaignError(
                f"model annotator {annotator.name!r} has no proposer that could propose for further "
                "images: its boxes come from a file, or it has not learned yet; train it"
            )
        from models_core.estimators.neural.proposer.box_proposer import BoxProposer

        try:
            proposer = BoxProposer.load(folder)
        except BadModel as error:
            _log.warning("model annotator %s: %s", annotator.name, error)
            raise CampaignError(
                f"what model annotator {annotator.name!r} learnt last cannot be used: it is damaged, or of "
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
    """Where what a model annotator learnt as of a version is kept."""
    return Path(django_settings.DATA_DIR) / "model_annotators" / str(annotator.pk) / str(version)


def _take_turns(annotator: ModelAnnotator) -> int:
    """Let a model annotator take its turn, if it is the one that works; how many questions it answered."""
    if model_at_work(annotator.campaign_id) != annotator:
        return 0
    return model_answers.answer_waiting_images(annotator.campaign, submission.submit)


class _Beginning(NamedTuple):
    """The stored proposer from which a model annotator's training runs begin: its name ("": from nothing),
    and the digest of what is stored under it ("" where that is not known, or none is)."""

    name: str
    digest: str


def _beginning(annotator: ModelAnnotator) -> _Beginning:
    """Where the campaign has the training runs of its model annotators begin now."""
    name = settings_of(annotator.campaign.settings).model_annotator.system
    return _Beginning(name, proposer_digest(name) if name else "")


def _save_proposer(
    proposer: BoxProposer, annotator: ModelAnnotator, version: int, *, begun: _Beginning, as_stored: bool
) -> None:
    folder = version_folder(annotator, version)
    if folder.exists():
        shutil.rmtree(folder)  # Of a training run that was killed.
    metadata = {"campaign": annotator.campaign.name, "model_annotator": annotator.name, "version": version}
    last = _metadata(annotator)
    # That of a stored proposer that is gone by now stays known.
    before = last.get("begun_digest", "") if last.get("begun_from") == begun.name else ""
    began = {"begun_from": begun.name, "begun_digest": begun.digest or before, "as_stored": as_stored}
    proposer.save(folder, {**metadata, **began})


def _began_with(annotator: ModelAnnotator, begun: _Beginning) -> bool | None:
    """Whether the model annotator's training runs began there: from a proposer of this name, that was not
    replaced since as far as both digests are known. None where that is not known."""
    metadata = _metadata(annotator)
    if metadata.get("begun_from") is None:
        return None
    known = metadata.get("begun_digest")
    return metadata["begun_from"] == begun.name and (not known or not begun.digest or known == begun.digest)


def _metadata(annotator: ModelAnnotator) -> Mapping[str, Any]:
    """What is noted beside what a model annotator learnt last."""
    try:
        return read_manifest(version_folder(annotator, annotator.version)).get("metadata") or {}
    except (BadModel, OSError):
        return {}


def _learnt_last(annotator: ModelAnnotator, begun: _Beginning) -> BoxProposer | None:
    """What a model annotator learnt last, if its training runs began there, and it is of this version of the
    program."""
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer

    folder = version_folder(annotator, annotator.version)
    if annotator.from_file or not folder.is_dir():
        return None
    try:
        return BoxProposer.load(folder) if _began_with(annotator, begun) else None
    except BadModel as error:
        _log.warning("model annotator %s learns from the beginning: %s", annotator.name, error)
        return None


def _forget_others(annotator: ModelAnnotator) -> None:
    """Remove what earlier versions learnt, but for the one before: a backup under way may have copied the
    database when that counted."""
    current = version_folder(annotator, annotator.version)
    retained = {current, version_folder(annotator, annotator.version - 1)}
    for folder in current.parent.iterdir():
        if folder not in retained:
            shutil.rmtree(folder)


def forget_deleted() -> int:
    """Remove what model annotators learnt that are gone with their campaigns; of how many."""
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
    """Store what a proposer would draw in these images (ids); of how many it says anything. Of the others is
    stored that it says nothing, so that they are not tried again. `report_progress` is called before each
    image."""
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
    """A training run under way: the version that comes of it, a folder for what is of use meanwhile, the
    device, and who is told."""

    version: int
    folder: Path
    device: str
    report_progress: TrainingProgress
    unreadable: Unreadable


def _trained_proposer(
    annotator: ModelAnnotator, finished: int, training: _TrainingRun, begun: _Beginning, *, restart: bool
) -> tuple[BoxProposer, str, bool]:
    """What a model annotator proposes by from this version on, what that learnt from, in words, and whether
    it learnt in this campaign: else it is the stored proposer as it is."""
    row = annotator.campaign
    settings = settings_of(row.settings).model_annotator
    last = None if restart else _learnt_last(annotator, begun)
    if finished >= settings.from_images:
        begin = last
        if begin is None and settings.system:
            begin = stored_proposer(settings.system)
        return (
            _learnt(row, begin, finished, training),
            f"{finished} finished images"
            + (f", from proposer {settings.system} on" if settings.system else ""),
            True,
        )
    # What a model annotator has learnt here is not given up for what it began with.
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
    """(campaign, model annotator) of those that are to learn now, by their campaigns' settings: none whose
    boxes come from a file."""
    due = []
    for row in model_annotators.campaigns_with_model_annotators():
        annotator = model_at_work(row.pk)
        if annotator is None or annotator.from_file:
            continue
        settings, finished = (
            settings_of(row.settings).model_annotator,
            training_records.count_training_images(row),
        )
        if learns_now(settings, finished=finished, learnt=annotator.learnt) or (
            # From another beginning than it had: that holds from now on.
            annotator.learnt is not None
            and (settings.system or finished >= settings.from_images)
            and _began_with(annotator, _beginning(annotator)) is False
        ):
            due.append((row, annotator.name))
    return due


def model_annotators_to_propose() -> list[tuple[Campaign, str]]:
    """(campaign, model annotator) of those that lack boxes for images of their share, and of which is kept
    what they learnt last."""
    lacking = []
    for row in model_annotators.campaigns_with_model_annotators():
        annotator = model_at_work(row.pk)
        # What cannot be read is not asked for: a training run has to come first.
        if annotator is None or annotator.from_file or not _metadata(annotator):
            continue
        if model_annotators.lacks_proposals(annotator):
            lacking.append((row, annotator.name))
    return lacking


def _learnt(row: Campaign, begin: BoxProposer | None, finished: int, training: _TrainingRun) -> BoxProposer:
    """A proposer that learnt from a campaign's chains with boxes; of the images whose boxes were judged last
    a part is held out, as in earlier training runs."""
    from models_core.estimators.neural.proposer.box_proposer import BoxProposer
    from models_core.estimators.neural.proposer.training import ProposerSettings

    torch_for(training.device)  # Before all pictures are read.
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
