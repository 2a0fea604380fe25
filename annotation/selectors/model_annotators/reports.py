"""Reports on model annotators: their state, and the verdicts on their boxes."""

from dataclasses import dataclass

from annotation.models import Campaign, ModelAnnotator, Task, TrustState
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import judged_by
from annotation.protocol.model_annotators import categories_left, model_trust
from annotation.protocol.questions import VOTE
from annotation.protocol.trust import SUSPENDED, TRUST_STATES
from annotation.selectors.model_annotators.boxes import (
    DECIDING,
    category_records,
    drawing_kinds,
    judged_boxes,
)
from annotation.selectors.model_annotators.proposals import model_at_work


@dataclass(frozen=True, slots=True)
class CategoryReport:
    """A category of a model annotator: boxes judged and accepted since its last training; `left`: people
    draw."""

    category: str
    judged: int
    good: int
    left: bool


@dataclass(frozen=True, slots=True)
class ModelAnnotatorReport:
    """A model annotator on pages and in commands: its worker's state, and the verdicts on its boxes.

    `judged`, `good` and `waiting` (people have an open question about it) count all of its boxes;
    `categories` those of its version. `works`: it proposes boxes now; only the newest of a campaign does, and
    none while it is suspended for drawing, or if the campaign has no share for it.
    """

    campaign: str
    name: str
    worker: str
    version: int
    learned: int | None
    source: str
    external: bool
    state: str
    judged: int
    good: int
    waiting: int
    works: bool
    categories: tuple[CategoryReport, ...]


def model_annotator_reports(campaign: Campaign) -> list[ModelAnnotatorReport]:
    """Return the model annotators of a campaign, the newest first."""
    settings = settings_of(campaign.settings)
    trust = model_trust(settings.trust, settings.model_annotator)
    at_work = model_at_work(campaign.pk) if settings.model_annotator.share else None
    reports = []
    for annotator in (
        ModelAnnotator.objects.filter(campaign=campaign).select_related("worker", "campaign").order_by("-pk")
    ):
        kinds = drawing_kinds(campaign)
        trust_row = TrustState.objects.filter(
            campaign=campaign, worker=annotator.worker, kind__in=kinds
        ).first()
        every = list(judged_boxes(annotator))[::-1]
        questions = _asked_about(annotator)
        newest = [box for box in every if annotator.version and box.version >= annotator.version]
        verdicts = [(box.categories, box.good) for box in newest[-DECIDING:] if box.good is not None]
        left = categories_left(verdicts, kind=kinds[0], settings=trust) if kinds else frozenset()
        reports.append(
            ModelAnnotatorReport(
                campaign=campaign.name,
                name=annotator.name,
                worker=annotator.worker.pseudonym,
                version=annotator.version,
                learned=annotator.learned,
                source=annotator.source,
                external=annotator.external,
                state=_state(trust_row),
                judged=sum(box.good is not None for box in every),
                good=sum(box.good is True for box in every),
                works=annotator == at_work
                and annotator.version > 0
                and (trust_row is None or trust_row.state != SUSPENDED),
                waiting=sum(box.good is None and (box.image, box.name) in questions for box in every),
                categories=tuple(
                    CategoryReport(
                        category.category, category.judged, category.good, category.category in left
                    )
                    for category in category_records(newest)
                ),
            )
        )
    return reports


def _asked_about(annotator: ModelAnnotator) -> set[tuple[int, str]]:
    """Return (image, name of the drawing) of its boxes about which people have an open question."""
    kinds = [judged_by(kind) for kind in drawing_kinds(annotator.campaign)]
    tasks = Task.objects.filter(
        campaign=annotator.campaign_id, barred=annotator.worker_id, kind__in=kinds, state=Task.OPEN, role=VOTE
    )
    return {(image, key.split("|")[1]) for image, key in tasks.values_list("image", "key")}


def _state(trust_row: TrustState | None) -> str:
    if trust_row is None:
        return TRUST_STATES[0]
    return "withdrawn" if trust_row.withdrawn_at else "blocked" if trust_row.blocked else trust_row.state
