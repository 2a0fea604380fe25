"""Flags of written captions, brought up to date by the periodic work.

An image's captions are flagged anew when the image has changed: after a new caption, a changed, withdrawn or
restored one. With them all captions of their writers are, for what is repeated. So the flags of a campaign
depend on its captions only, and not on when they were counted; but for those by the background, which grows.
In a large campaign flags wait until enough has changed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

from django.db.models import F, Q, QuerySet

from annotation.common import database
from annotation.models import Campaign, Caption, CaptionFlag, Judgment, OpenImage
from annotation.protocol.caption_flags import (
    LEAST_BACKGROUND,
    MOST_BACKGROUND,
    THRESHOLDS,
    CaptionBackground,
    CollectedCaption,
    FlagReason,
    RaisedFlag,
    flags_within_image,
    repeated_captions,
)
from annotation.protocol.kinds import all_kinds
from annotation.selectors.caption_flags import caption_kinds, captions_written, corpora_of_captions
from annotation.selectors.spelling import unknown_words

#: Images whose captions are flagged in one run; the rest waits.
IMAGES_AT_ONCE = 2_000
#: Where more images than these are flagged, flags wait until this share of them has changed, but no longer
#: than this: all captions of the writers are read.
MANY_IMAGES, WORTH_A_RUN, FLAGGED_WITHIN = 1_000, 0.05, timedelta(hours=1)
#: Captions of an image that a background reads, on average.
_CAPTIONS_OF_AN_IMAGE = 5


class _Stored(NamedTuple):
    """A flag as it is stored."""

    judgment_id: int
    reason: str
    value: float
    threshold: float
    similar_to_id: int | None


def flag_captions(campaign: Campaign) -> int:
    """Flag the captions of changed images; return the number of images."""
    if not caption_kinds(campaign):
        return 0
    _replace(campaign, Q(reason=FlagReason.CHECKED), _checked(campaign), {})
    images = OpenImage.objects.filter(campaign=campaign)
    changed = images.exclude(version=F("flags_version")).order_by("pk")
    behind = dict(changed.values_list("pk", "version")[:IMAGES_AT_ONCE])
    if not behind or _waits(images, len(behind)):
        return 0
    background = _background(campaign)
    flagged_before = images.filter(flags_version__gt=0).exclude(pk__in=behind)
    if LEAST_BACKGROUND <= background.images <= LEAST_BACKGROUND + len(behind):
        # Until now there was no background to compare with.
        behind |= dict(flagged_before.values_list("pk", "version"))
    answers = Judgment.objects.filter(image__in=behind, kind__in=caption_kinds(campaign))
    writers = set(answers.values_list("worker", flat=True))
    flags = _within_images(campaign, behind, background) + _repeated(campaign, writers)
    about = Q(judgment__image__in=behind) & ~Q(reason__in=(FlagReason.REPEATED, FlagReason.CHECKED))
    about |= Q(judgment__worker__in=writers, reason=FlagReason.REPEATED)
    _replace(campaign, about, flags, behind)
    return len(behind)


def _waits(images: QuerySet[OpenImage], changed: int) -> bool:
    """Whether more changes are awaited."""
    flagged = images.filter(flags_version__gt=0).count()
    if flagged <= MANY_IMAGES or changed >= min(IMAGES_AT_ONCE, WORTH_A_RUN * flagged):
        return False
    long_ago = images.exclude(version=F("flags_version")).filter(
        changed_at__lt=database.now() - FLAGGED_WITHIN
    )
    return not long_ago.exists()


def _within_images(
    campaign: Campaign, images: Collection[int], background: CaptionBackground
) -> list[RaisedFlag]:
    of_image: dict[object, list[CollectedCaption]] = defaultdict(list)
    for caption in _captions(campaign, Q(image__in=images)):
        of_image[caption.image].append(caption)

    def unknown(text: str) -> int:
        return len(unknown_words(text, corpus=campaign.corpus_id))

    return [
        flag
        for captions in of_image.values()
        for flag in flags_within_image(captions, background, unknown_words=unknown)
    ]


def _repeated(campaign: Campaign, writers: Collection[int]) -> list[RaisedFlag]:
    of_writer: dict[object, list[CollectedCaption]] = defaultdict(list)
    for caption in _captions(campaign, Q(worker__in=writers)):
        of_writer[caption.writer].append(caption)
    return [flag for captions in of_writer.values() for flag in repeated_captions(captions)]


def _checked(campaign: Campaign) -> Iterator[RaisedFlag]:
    """Yield the flags of captions in which second people saw a fault, in any campaign that checks a corpus
    into which they were published."""
    corpora = corpora_of_captions(campaign)
    kinds = {kind.key: kind for kind in all_kinds() if kind.faults}
    checks = Judgment.objects.filter(
        campaign__corpus__name__in=corpora, kind__in=kinds, image__isnull=False, flag="", withdrawn=False
    )
    verdicts: dict[tuple[int, str], list[bool]] = defaultdict(list)
    for kind, key, corpus, answer in checks.values_list("kind", "key", "campaign__corpus", "answer"):
        caption = kinds[kind].details(key, {})["caption"]
        verdicts[corpus, caption].append(answer in kinds[kind].faults)
    shares = {caption: sum(seen) / len(seen) for caption, seen in verdicts.items()}
    faulty = {caption: share for caption, share in shares.items() if share >= THRESHOLDS.checked}
    texts: dict[tuple[str, str], float] = {}
    keys = sorted({caption.rpartition("#")[0] for _corpus, caption in faulty})
    for part in database.chunks(keys, 500):
        rows = Caption.objects.filter(image__corpus__name__in=corpora, image__key__in=part)
        for corpus, key, number, text in rows.values_list("image__corpus", "image__key", "number", "text"):
            if (share := faulty.get((corpus, f"{key}#{number}"))) is not None:
                texts[key, text] = max(share, texts.get((key, text), 0.0))
        written = captions_written(campaign).filter(image__image__key__in=part)
        columns = ("pk", "image__image__key", "content__text", "review__text")
        for pk, key, text, corrected in written.values_list(*columns):
            if (key, corrected or text) in texts:
                yield RaisedFlag(pk, FlagReason.CHECKED, texts[key, corrected or text], THRESHOLDS.checked)


def _captions(campaign: Campaign, which: Q) -> Iterable[CollectedCaption]:
    """Yield captions in the order of writing, with the images of the corpus. Simulated seconds do not count,
    nor do texts that were erased."""
    rows = captions_written(campaign).filter(which).order_by("pk")
    for number, image, writer, content, seconds in rows.values_list(
        "pk", "image__image", "worker", "content", "assignment__seconds"
    ):
        if content and (text := content.get("text")):
            measured = 0.0 if campaign.simulated else seconds or 0.0
            yield CollectedCaption(number, image, writer, text, measured, content.get("pasted", 0.0))


def _background(campaign: Campaign) -> CaptionBackground:
    """Return what the captions of the campaign's corpus and of the campaign itself say."""
    most = MOST_BACKGROUND * _CAPTIONS_OF_AN_IMAGE
    texts: dict[object, list[str]] = defaultdict(list)
    stored = Caption.objects.filter(image__corpus=campaign.corpus_id).order_by("image", "number")
    for image, text in stored.values_list("image", "text")[:most]:
        texts[image].append(text)
    written = captions_written(campaign).order_by("pk")
    for image, text in written.values_list("image__image", "content__text")[:most]:
        if text:
            texts[image].append(text)
    return CaptionBackground(texts)


def _replace(campaign: Campaign, about: Q, flags: Iterable[RaisedFlag], images: dict[int, int]) -> None:
    """Store these flags instead of those that the condition selects, and the images' versions."""
    new = {_Stored(flag.caption, flag.reason, flag.value, flag.threshold, flag.like) for flag in flags}
    versions: dict[int, list[int]] = defaultdict(list)
    for image, version in images.items():
        versions[version].append(image)
    with database.writing():
        rows = CaptionFlag.objects.filter(about, campaign=campaign)
        old = {_Stored._make(getattr(row, name) for name in _Stored._fields): row.pk for row in rows}
        CaptionFlag.objects.filter(pk__in=[pk for flag, pk in old.items() if flag not in new]).delete()
        CaptionFlag.objects.bulk_create(
            [
                CaptionFlag(campaign=campaign, **flag._asdict())
                for flag in sorted(new - old.keys(), key=lambda flag: flag[:2])
            ],
            batch_size=500,
        )
        for version, same in versions.items():
            OpenImage.objects.filter(pk__in=same).update(flags_version=version)
