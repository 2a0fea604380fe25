"""Model annotators of a campaign: created by a manager, trained by a job, with their proposals stored.

This package does not know how a model annotator finds its boxes: training code stores proposals, which are
boxes for each image and phrase with the probability that people accept them (`store_proposals`).
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.audit import record
from annotation.common import database
from annotation.common.locks import is_held, locked_folder
from annotation.common.operations import Help, Named, OperationContext, invalid
from annotation.datasets import layers
from annotation.models import (
    Account,
    Campaign,
    Image,
    ModelAnnotator,
    ModelProposals,
    OpenImage,
    TrustState,
    Worker,
)
from annotation.moderation import worker_status
from annotation.protocol.campaign_settings import CampaignError, settings_of
from annotation.protocol.contents import corners, mention_from
from annotation.protocol.kinds import model_kinds
from annotation.protocol.model_annotators import Proposals, best_first, model_trust
from annotation.protocol.terms import ImageRecord, Mention
from annotation.protocol.trust import SUSPENDED
from annotation.quality import worker_trust
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.jobs import Job, newest_job
from annotation.selectors.model_annotators.reports import ModelAnnotatorReport, model_annotator_reports
from annotation.selectors.records import stream_records

#: The jobs that train a model annotator, and that let one propose boxes for further images; the training code
#: registers them.
TRAIN_JOB, PROPOSE_JOB = "train_model_annotator", "propose_boxes"
ModelAnnotatorName = Annotated[str, Named(max_length=30)]
#: Number of images whose mentions are read together.
_IMAGES_TOGETHER = 200


def model_annotator_add(*, campaign: Campaign, name: str, actor: Account | None = None) -> ModelAnnotator:
    """Create a model annotator of a campaign: a separate worker without login, with its trust states.

    Raises CampaignError for a campaign without questions for model annotators, and Invalid for a name that is
    taken.
    """
    kinds = model_kinds(campaign.kinds)
    if not kinds:
        raise CampaignError(
            _("campaign %(campaign)s asks for no boxes: a model annotator has nothing to do there")
            % {"campaign": repr(campaign.name)}
        )
    if campaign.state == Campaign.CLOSED:
        raise CampaignError(
            _("campaign %(campaign)s is closed; add the model annotator to an open one")
            % {"campaign": repr(campaign.name)}
        )
    settings = settings_of(campaign.settings)
    rules = model_trust(settings.trust, settings.model_annotator)
    try:
        with database.writing():
            pseudonym = f"model-{name[:24]}-{secrets.token_hex(3)}"
            worker = Worker.objects.create(kind=Worker.MODEL, pseudonym=pseudonym)
            model_annotator = ModelAnnotator.objects.create(
                campaign=campaign, worker=worker, name=name, created_by=actor
            )
            for kind in kinds:
                worker_trust.join_campaign(worker=worker.pk, campaign=campaign, kind=kind, settings=rules)
            record(
                actor=actor,
                act="add_model_annotator",
                campaign=campaign,
                model_annotator=name,
                worker=worker.pseudonym,
            )
    except IntegrityError as error:
        raise invalid("name", "taken", value=name) from error
    return model_annotator


@dataclass(frozen=True, slots=True, kw_only=True)
class AddModelAnnotatorRequest(CampaignRequest):
    """A model annotator is a worker without an account. After training, it proposes boxes on the campaign's
    share of images (model_annotator.share); people accept or reject them."""

    name: Annotated[ModelAnnotatorName, Help(gettext_lazy("Name of a new model annotator"))]


def add_model_annotator(request: AddModelAnnotatorRequest, context: OperationContext) -> ModelAnnotatorReport:
    """Create a model annotator. Raises CampaignError, and Invalid for a name that is taken."""
    campaign = request.row()
    model_annotator_add(campaign=campaign, name=request.name, actor=context.actor)
    return next(report for report in model_annotator_reports(campaign) if report.name == request.name)


def model_annotator_in(campaign: Campaign, name: str) -> ModelAnnotator:
    """Return the model annotator that a request names. Raises Invalid."""
    model_annotator = (
        ModelAnnotator.objects.filter(campaign=campaign, name=name).select_related("worker").first()
    )
    if model_annotator is None:
        raise invalid("model_annotator", "unknown", kind=_("model annotator"), value=name)
    return model_annotator


def model_annotator_named(campaign: Campaign, name: str) -> ModelAnnotator:
    """Return the model annotator of that name; CampaignError lists the existing ones."""
    model_annotator = (
        ModelAnnotator.objects.filter(campaign=campaign, name=name).select_related("worker").first()
    )
    if model_annotator is None:
        names = ", ".join(
            ModelAnnotator.objects.filter(campaign=campaign).order_by("pk").values_list("name", flat=True)
        )
        raise CampaignError(
            _("campaign %(campaign)s has no model annotator %(model_annotator)s; it has %(model_annotators)s")
            % {
                "campaign": repr(campaign.name),
                "model_annotator": repr(name),
                "model_annotators": names or _("none"),
            }
        )
    return model_annotator


def record_training(
    model_annotator: ModelAnnotator,
    *,
    images: int | None,
    source: str,
    external: bool = False,
    adds: bool = False,
) -> int:
    """Record that a model annotator was trained on that many finished images; return the new version of its
    proposals.

    `external`: it was not trained (`images` None), its boxes are from a file or a model at an address, and it
    is not trained automatically.

    Store its proposals of that version first (`training_run`): from now on it answers with them. Earlier ones
    are removed, unless the new ones are `adds`: then those of other images stay. If verdicts had suspended
    it, it is reinstated.
    """
    with database.writing():
        row = ModelAnnotator.objects.select_for_update(no_key=True).get(pk=model_annotator.pk)
        row.version, row.learned, row.source = row.version + 1, images, source[:200]
        row.external = external
        row.save(update_fields=["version", "learned", "source", "external"])
        proposals = ModelProposals.objects.filter(model_annotator=model_annotator)
        if adds:
            of_file = proposals.filter(version=row.version).values("image")
            proposals.filter(version=row.version - 1).exclude(image__in=of_file).update(version=row.version)
        proposals.filter(version__lt=row.version).delete()
        for trust in TrustState.objects.filter(
            campaign=model_annotator.campaign_id,
            worker=model_annotator.worker_id,
            state=SUSPENDED,
            blocked=False,
            withdrawn_at=None,
        ):
            # Its verdicts concerned the earlier version. A researcher's decision stays.
            worker_status.reinstate_worker(
                campaign=model_annotator.campaign, worker=model_annotator.worker_id, kind=trust.kind
            )
    model_annotator.refresh_from_db()
    return model_annotator.version


def newest_jobs(campaign: Campaign, model_annotator: str) -> dict[str, Job]:
    """Return the newest job of each kind about a model annotator, by its name."""
    jobs = {
        kind: newest_job(kind, campaign, model_annotator=model_annotator) for kind in (TRAIN_JOB, PROPOSE_JOB)
    }
    return {kind: job for kind, job in jobs.items() if job is not None}


def refuse_busy(model_annotator: ModelAnnotator) -> None:
    """Raise CampaignError if a job about this model annotator runs or waits."""
    if any(
        job.state in Job.LIVE for job in newest_jobs(model_annotator.campaign, model_annotator.name).values()
    ):
        raise CampaignError(
            _(
                "model annotator %(model_annotator)s is being trained, or is given boxes: wait for the "
                "end of that job, or cancel it"
            )
            % {"model_annotator": repr(model_annotator.name)}
        )


def refuse_closed(campaign: Campaign) -> None:
    """Raise CampaignError if the campaign is closed: training has no purpose."""
    if campaign.state == Campaign.CLOSED:
        raise CampaignError(
            _("campaign %(campaign)s is closed: its model annotators learn no more")
            % {"campaign": repr(campaign.name)}
        )


class TrainingRun(NamedTuple):
    """The version of the proposals of a training run, and a folder for temporary files."""

    version: int
    folder: Path


def _lock_name(model_annotator: ModelAnnotator) -> str:
    return f"model_annotator.{model_annotator.pk}"


def is_training(campaign: Campaign, model_annotator: str) -> bool:
    """Whether the model annotator of that name is being trained, or gets boxes, by a job or a command."""
    return is_held(_lock_name(model_annotator_named(campaign, model_annotator)))


@contextmanager
def training_run(model_annotator: ModelAnnotator) -> Iterator[TrainingRun]:
    """Context in which a model annotator gets proposals, and nobody else gives it any.

    Proposals that this training run, or an earlier one, stored are removed if it does not finish. Raises
    Busy, and CampaignError if the campaign is closed.
    """
    refuse_closed(model_annotator.campaign)
    busy = f"model annotator {model_annotator.name!r} is being trained, or is given boxes; wait for the end"
    with locked_folder(_lock_name(model_annotator), busy=busy) as folder:
        model_annotator.refresh_from_db(fields=["version", "learned", "source", "external"])
        ModelProposals.objects.filter(
            model_annotator=model_annotator, version__gt=model_annotator.version
        ).delete()
        try:
            yield TrainingRun(model_annotator.version + 1, folder)
        except BaseException:
            model_annotator.refresh_from_db(fields=["version"])
            ModelProposals.objects.filter(
                model_annotator=model_annotator, version__gt=model_annotator.version
            ).delete()
            raise


def store_proposals(
    model_annotator: ModelAnnotator, proposals: Iterable[tuple[str, Proposals]], *, version: int | None = None
) -> int:
    """Store a model annotator's boxes in images (by key), replacing earlier ones; return the number of
    images.

    `version` is that of the proposals, the model annotator's current one by default. Those of a later version
    wait until the model annotator has it (`record_training`). Raises CampaignError for an image that the
    campaign does not ask about, and for a phrase or a box that does not belong to the image.
    """
    count = 0
    for key, of_image in proposals:
        row = (
            OpenImage.objects.select_related("image")
            .filter(campaign=model_annotator.campaign_id, image__key=key)
            .first()
        )
        if row is None:
            raise CampaignError(
                f"image {key!r} is not among those of campaign {model_annotator.campaign.name!r}; "
                "propose boxes of its own images"
            )
        _check(row, of_image)
        ModelProposals.objects.update_or_create(
            model_annotator=model_annotator,
            image=row,
            version=model_annotator.version if version is None else version,
            defaults={"boxes": _box_lists(of_image)},
        )
        count += 1
    return count


def _box_lists(proposals: Proposals) -> dict[str, list[list[float]]]:
    return {
        phrase: [[*corners(proposal.box), round(proposal.chance, 4)] for proposal in best_first(boxes)]
        for phrase, boxes in proposals.items()
        if boxes
    }


def _check(row: OpenImage, proposals: Proposals) -> None:
    names = {f"{caption}:{start}-{end}" for caption, start, end, *_ in row.mentions}
    if strange := sorted(set(proposals) - names):
        raise CampaignError(
            f"image {row.image.key!r} has no mention {strange[0]!r}; propose boxes for the mentions that the "
            "campaign asks about"
        )
    width, height = row.image.width, row.image.height
    for phrase, boxes in proposals.items():
        for box, chance in boxes:
            if (width and box.xmax > width) or (height and box.ymax > height) or not 0 <= chance <= 1:
                raise CampaignError(
                    f"image {row.image.key!r}, mention {phrase}: box {corners(box)} with chance {chance} is "
                    f"not within {width} x {height} pixels and 0 to 1"
                )


def count_finished(campaign: Campaign) -> int:
    """Return how many images of a campaign are complete."""
    return OpenImage.objects.filter(campaign=campaign, complete=True).count()


def finished_records(campaign: Campaign) -> Iterator[ImageRecord]:
    """Yield the campaign's complete images with their part of its layer, in the order of the corpus."""
    complete = OpenImage.objects.filter(campaign=campaign, complete=True)
    layer = layers.layer_to_read(campaign.corpus, campaign.name)
    images = Image.objects.filter(pk__in=complete.values("image"))
    return stream_records(corpus=campaign.corpus, layer=layer, images=images)


def images_to_propose(campaign: Campaign, *, lacking: ModelAnnotator | None = None) -> list[int]:
    """Return the unfinished images (ids) in the model annotator's share, in the order of tasks; with
    `lacking` only those for which this model annotator's version has no proposals yet."""
    settings = settings_of(campaign.settings).model_annotator
    rows_of_images = _unfinished(campaign) if lacking is None else _without_proposals(lacking)
    rows = rows_of_images.order_by("-priority", "position").values_list("image", "image__key")
    return [image for image, key in rows.iterator() if settings.takes(key, seed=campaign.seed)]


def records_to_propose(
    campaign: Campaign, images: Sequence[int]
) -> Iterator[tuple[ImageRecord, tuple[Mention, ...]]]:
    """Yield these images of a campaign (ids, `images_to_propose`) with their mentions; read in blocks."""
    for start in range(0, len(images), _IMAGES_TOGETHER):
        some = images[start : start + _IMAGES_TOGETHER]
        rows = OpenImage.objects.filter(campaign=campaign, image__in=some)
        mentions = dict(rows.values_list("image__key", "mentions"))
        for image in stream_records(corpus=campaign.corpus, images=Image.objects.filter(pk__in=some)):
            yield image, tuple(map(mention_from, mentions[image.id]))


def lacks_proposals(model_annotator: ModelAnnotator) -> bool:
    """Whether there is an unfinished image in the model annotator's share for which its version has no
    proposals: opened, or added to its share, after the training run. One query."""
    campaign = model_annotator.campaign
    settings = settings_of(campaign.settings).model_annotator
    keys = _without_proposals(model_annotator).values_list("image__key", flat=True)
    return any(settings.takes(key, seed=campaign.seed) for key in keys.iterator())


def _unfinished(campaign: Campaign) -> QuerySet[OpenImage]:
    return OpenImage.objects.filter(campaign=campaign, complete=False)


def _without_proposals(model_annotator: ModelAnnotator) -> QuerySet[OpenImage]:
    proposed = ModelProposals.objects.filter(
        model_annotator=model_annotator, version=model_annotator.version, image=OuterRef("pk")
    )
    return _unfinished(model_annotator.campaign).filter(~Exists(proposed))


def known_model_annotators() -> set[str]:
    """Return the ids of all model annotators, which are the names of their folders."""
    return {str(number) for number in ModelAnnotator.objects.values_list("pk", flat=True)}


def campaigns_with_model_annotators() -> list[Campaign]:
    """Return the open campaigns that have a model annotator, and a share of images for it."""
    rows = (
        Campaign.objects.filter(state=Campaign.OPEN, model_annotators__isnull=False).distinct().order_by("pk")
    )
    return [row for row in rows.select_related("corpus") if settings_of(row.settings).model_annotator.share]
