"""The figures of a datasheet as plain data, in a fixed order: the content of datasheet.json.

Only counts, without names or pseudonyms of workers. Equal rows give equal data: it contains no time of its
own.
"""

from dataclasses import asdict
from datetime import datetime
from pathlib import PurePath
from typing import Any

from django.db.models import Count, Max, Min, Q, QuerySet

from annotation.models import (
    Assignment,
    AuditEntry,
    Box,
    Campaign,
    Chain,
    Control,
    Corpus,
    Identity,
    Image,
    Instructions,
    Judgment,
    Layer,
    LayerImage,
    Mention,
    ModelAnnotator,
    Ruling,
    TrustState,
    Worker,
)
from annotation.protocol.agreement import DoubleCheckAgreement, IntervalEstimate
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.kinds import is_page, kind_of, kind_order
from annotation.protocol.money import amount_text
from annotation.protocol.trust import trust_reading
from annotation.selectors.campaign.cost import CampaignCost, costs
from annotation.selectors.campaign.glance import agreement
from annotation.selectors.campaigns import images_by_version, settings_versions
from annotation.selectors.controls import control_item_counts, control_metadata

#: Increased when a key of the figures changes its meaning.
DATASHEET_VERSION = 1
#: Workers whose identity was deleted, so that their origin is unknown.
_UNKNOWN = "unknown"


def datasheet_figures(
    corpus: Corpus, layer: Layer | None, images: QuerySet[Image], made_by: Campaign | None
) -> dict[str, Any]:
    """Return the figures of these images of a corpus, of a layer of it, and of the campaign that it comes
    from; without a layer, of the campaign in which people wrote the captions."""
    if layer is None and made_by is None:
        made_by = _campaign_of_captions(corpus)
    return {
        "version": DATASHEET_VERSION,
        "corpus": _corpus(corpus, images),
        "layer": _layer(layer, images) if layer is not None else None,
        "campaign": _campaign(made_by) if made_by is not None else None,
    }


def _campaign_of_captions(corpus: Corpus) -> Campaign | None:
    """Return the campaign whose captions were published as this corpus."""
    if corpus.format != Corpus.WRITTEN:
        return None
    published = AuditEntry.objects.filter(act="publish_captions", about__corpus=corpus.name)
    entry = published.exclude(campaign=None).select_related("campaign").order_by("-pk").first()
    return entry.campaign if entry is not None else None


def _corpus(corpus: Corpus, images: QuerySet[Image]) -> dict[str, Any]:
    splits = images.order_by("split").values("split").annotate(n=Count("pk")).values_list("split", "n")
    return {
        "name": corpus.name,
        "licence": corpus.licence,
        "format": corpus.format,
        # Not the path on the server, which is private.
        "source": PurePath(corpus.source).name,
        "digest": corpus.digest,
        "imported": _day(corpus.created_at),
        "added": corpus.deliveries,
        "images": corpus.image_count,
        "captions": corpus.caption_count,
        "exported_images": images.count(),
        "with_picture": images.exclude(picture="").count(),
        "turned": images.filter(orientation__gt=1).count(),
        "splits": dict(splits),
    }


def _layer(layer: Layer, images: QuerySet[Image]) -> dict[str, Any]:
    boxes = Box.objects.filter(layer=layer, image__in=images)
    counts = boxes.aggregate(all=Count("pk"), by_model=Count("pk", filter=Q(by_model=True)))
    return {
        "name": layer.name,
        "source": layer.source,
        "images": LayerImage.objects.filter(layer=layer, image__in=images).count(),
        "chains": Chain.objects.filter(layer=layer, image__in=images).count(),
        "mentions": Mention.objects.filter(layer=layer, caption__image__in=images).count(),
        "boxes": counts["all"],
        "model_boxes": counts["by_model"],
        "model_share": _share(counts["by_model"], counts["all"]),
        "labels": _labels(layer, images),
        "settings": layer.settings,
        "cost": layer.cost,
    }


def _labels(layer: Layer, images: QuerySet[Image]) -> dict[str, int]:
    """Return the number of chains with each label of another tool, the most frequent first."""
    labelled = Chain.objects.filter(layer=layer, image__in=images).exclude(label="").order_by()
    return dict(
        labelled.values("label").annotate(n=Count("pk")).order_by("-n", "label").values_list("label", "n")
    )


def _campaign(campaign: Campaign) -> dict[str, Any]:
    pay = settings_of(campaign.settings).pay
    cost = costs(campaign, pay)
    handed_in = Assignment.objects.filter(campaign=campaign, state=Assignment.SUBMITTED)
    when = handed_in.aggregate(first=Min("ended_at"), last=Max("ended_at"))
    agreed = agreement(campaign, fresh=True)
    rulings = Ruling.objects.filter(image__campaign=campaign, withdrawn_at=None)
    by_models = Judgment.objects.filter(campaign=campaign, withdrawn=False, worker__kind=Worker.MODEL)
    answered = set(by_models.values_list("worker", flat=True).distinct())
    return {
        "name": campaign.name,
        "tasks": campaign.tasks,
        "simulated": campaign.simulated,
        "state": campaign.state,
        "opened": _day(campaign.opened_at),
        "ended": _day(campaign.ended_at),
        "first_answer": _day(when["first"]),
        "last_answer": _day(when["last"]),
        "questions": {
            kind: _question(campaign, kind, cost, agreed.get(kind))
            for kind in sorted(campaign.kinds, key=kind_order)
        },
        "withdrawn_answers": Judgment.objects.filter(campaign=campaign, withdrawn=True).count(),
        "rulings": rulings.count(),
        "reviewers": rulings.exclude(made_by=None).values("made_by").distinct().count(),
        "people": _people(campaign, handed_in),
        "model_annotators": [
            {
                "name": annotator.name,
                "version": annotator.version,
                "learned_from_images": annotator.learned,
                "source": annotator.source,
            }
            for annotator in ModelAnnotator.objects.filter(campaign=campaign).order_by("pk")
            if annotator.worker_id in answered
        ],
        "cost": {
            "basis": pay.basis,
            "currency": cost.currency,
            "earned": amount_text(cost.earned, cost.currency),
            "paid": amount_text(cost.paid, cost.currency),
            "hours": round(cost.seconds / 3600, 3),
            "earned_an_hour": amount_text(cost.hourly, cost.currency) if cost.hourly is not None else None,
            "per_item": {kind: str(amount) for kind, amount in sorted(pay.per_item.items())},
            "hourly": str(pay.hourly),
        },
        "settings": _settings(campaign),
        "instructions": [
            {"text": text.kind, "version": text.version, "since": _day(text.created_at)}
            for text in Instructions.objects.filter(campaign=campaign).order_by("kind", "version")
        ],
    }


def _question(
    campaign: Campaign, kind: str, cost: CampaignCost, agreed: DoubleCheckAgreement | None
) -> dict[str, Any]:
    known = control_metadata(campaign.pk, campaign.revision).known[kind]
    done = cost.kinds.get(kind)
    in_use = control_item_counts(campaign)

    def items(purpose: str) -> int:
        return sum(n for (of, why, _), n in in_use.items() if (of, why) == (kind, purpose))

    read: dict[str, int] = {}
    trust_states = TrustState.objects.filter(campaign=campaign, kind=kind, worker__kind=Worker.PERSON)
    rows = trust_states.order_by().values_list("state", "blocked", "withdrawn_at", "examined_items")
    for state, blocked, withdrawn, answers in rows:
        reading = trust_reading(kind, state, known, examined=answers is not None)
        read_as = "withdrawn" if withdrawn else "blocked" if blocked else reading
        read[read_as] = read.get(read_as, 0) + 1
    # Times of a simulated crowd say nothing about people.
    timed = done if done and done.answers and not campaign.simulated else None
    return {
        "answers": done.answers if done else 0,
        "control_answers": done.controls if done else 0,
        "test_answers": done.tests if done else 0,
        "double_checks": done.double_checks if done else 0,
        "model_answers": done.model_answers if done else 0,
        "seconds_an_answer": round(timed.seconds / timed.answers, 2) if timed else None,
        "written_in_own_words": kind_of(kind).writes,
        "ticked_on_pages": is_page(kind),
        "test_items": items(Control.QUALIFICATION),
        "control_items": items(Control.CONTROL),
        "accuracy_is_measured": known.accuracy,
        "workers_by_trust": dict(sorted(read.items())),
        "agreement": _agreed(agreed) if agreed is not None else None,
    }


def _agreed(agreement: DoubleCheckAgreement) -> dict[str, Any]:
    def interval(estimate: IntervalEstimate | None) -> dict[str, Any] | None:
        if estimate is None:
            return None
        # Adding 0.0 turns -0.0 into 0.0.
        return {key: round(end, 4) + 0.0 for key, end in asdict(estimate).items()}

    return {
        "drawn": agreement.drawn,
        "pairs": agreement.pairs,
        "waiting": agreement.waiting,
        "lacking": agreement.lacking,
        "equal": interval(agreement.equal),
        "kappa": interval(agreement.kappa),
        "answers": {share.answer: interval(share.share) for share in agreement.answers},
        "mean_iou": interval(agreement.overlap),
    }


def _people(campaign: Campaign, handed_in: QuerySet[Assignment]) -> dict[str, Any]:
    who = handed_in.filter(worker__kind=Worker.PERSON).values("worker").distinct()
    total = who.count()

    def counted(field: str) -> dict[str, int]:
        rows = Identity.objects.filter(worker__in=who).exclude(**{field: ""}).order_by(field).values(field)
        counts = dict(rows.annotate(n=Count("pk")).values_list(field, "n"))
        unknown = total - sum(counts.values())
        return {**counts, _UNKNOWN: unknown} if unknown else counts

    countries = counted("country")
    return {
        "workers": total,
        "by_source": counted("provider"),
        # Where nobody has said anything, nothing was asked.
        "by_country": countries if set(countries) - {_UNKNOWN} else {},
        "open_to_all": campaign.open_to_all,
    }


def _settings(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the versions of the settings, the oldest first, each with the number of images opened under
    it."""
    opened = dict(images_by_version(campaign))
    return [
        {
            "version": row.number,
            "since": _day(row.created_at),
            "images": opened.get(row.number, 0),
            "settings": row.settings,
        }
        for row in reversed(settings_versions(campaign))
    ]


def _day(at: datetime | None) -> str | None:
    return at.date().isoformat() if at is not None else None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
