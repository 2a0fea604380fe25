"""Publish the captions that people wrote in a campaign, as a corpus of the same images."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation import audit
from annotation.common.database import chunks
from annotation.common.operations import Help, Named, OperationContext
from annotation.datasets.exporting import ExportError, simulated_refusal
from annotation.datasets.importing import import_records
from annotation.models import AnswerReview, Campaign, Caption, Corpus, Judgment
from annotation.protocol.kinds import all_kinds, only_kind
from annotation.protocol.terms import CaptionRecord, ImageRecord
from annotation.selectors.corpora import CampaignRequest
from annotation.selectors.records import RECORDS_PER_QUERY, stream_records

_ID = re.compile(r"w([0-9]{1,9})-[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishCaptionsRequest(CampaignRequest):
    """The new corpus has the images, pictures, splits and licence of the campaign's, and its captions first.
    Rejected and withdrawn captions are left out, and corrected ones have the corrected text. The id of a
    caption names its writer: w12-3 is the third of writer 12."""

    name: Annotated[str, Named(), Help(_("Name of the new corpus"))]
    least: Annotated[
        int,
        Field(ge=0, le=100),
        Help(_("Captions of an image"), _("Images with fewer new ones are left out")),
    ] = 1
    reviewed: Annotated[bool, Help(_("Reviewed"), _("Only captions that a reviewer accepted"))] = False
    simulated: Annotated[
        bool, Help(_("Simulated"), _("The answers may be those of a simulation, which no person gave"))
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCaptions:
    """A corpus of written captions: its images, the new captions and their writers, the number of images that
    were left out, and whether it existed with the same content."""

    corpus: str
    images: int
    captions: int
    writers: int
    skipped: int
    unchanged: bool


def check_publishing(request: PublishCaptionsRequest, context: OperationContext) -> PublishCaptionsRequest:
    """Raise ExportError for a campaign that collects no captions, and for simulated ones, unless allowed."""
    campaign = request.row()
    if not collects_captions(campaign):
        tasks = " or ".join(sorted({kind.tasks for kind in all_kinds() if kind.writes_captions}))
        raise ExportError(f"campaign {campaign.name!r} asks {campaign.tasks}; expected {tasks}")
    if campaign.simulated and not request.simulated:
        raise ExportError(simulated_refusal(campaign.name))
    return request


def publish_captions(request: PublishCaptionsRequest, context: OperationContext) -> PublishedCaptions:
    """Make a corpus of a campaign's captions. Raises as `check_publishing` does, ExportError if there are too
    few, and IntakeError if another corpus has the name."""
    check_publishing(request, context)
    campaign = request.row()
    captions = _WrittenCaptions(campaign, request.least, request.reviewed)
    report = import_records(
        name=request.name,
        records=captions.records(),
        format=Corpus.WRITTEN,
        source=f"campaign {campaign.name} over {campaign.corpus.name}",
        progress=context.progress_of("importing", campaign.corpus.image_count),
    )
    if not report.unchanged:
        # An existing corpus keeps its licence.
        Corpus.objects.filter(name=report.corpus).update(licence=campaign.corpus.licence)
        audit.record(
            actor=context.actor,
            act="publish_captions",
            campaign=campaign,
            corpus=report.corpus,
            images=report.images,
            captions=captions.counts.total(),
        )
    return PublishedCaptions(
        corpus=report.corpus,
        images=report.images,
        captions=captions.counts.total(),
        writers=len(captions.writers),
        skipped=captions.skipped,
        unchanged=report.unchanged,
    )


def collects_captions(campaign: Campaign) -> bool:
    """Whether the workers of a campaign write captions of its images."""
    kind = only_kind(campaign.tasks)
    return kind is not None and kind.writes_captions


class _WrittenCaptions:
    """The images of a campaign's corpus with their new captions; counts these, and the images left out."""

    def __init__(self, campaign: Campaign, least: int, reviewed: bool) -> None:
        self.campaign, self.least, self.reviewed = campaign, least, reviewed
        #: The number of each writer in ids, after those of earlier rounds; and of captions of each so far.
        self.writers: dict[int, int] = {}
        self.counts: Counter[int] = Counter()
        self.skipped = 0

    def records(self) -> Iterator[ImageRecord]:
        """Yield the images in order. Raises ExportError if none has a new caption."""
        first = 1 + _writers_before(self.campaign.corpus)
        for page in chunks(stream_records(corpus=self.campaign.corpus), RECORDS_PER_QUERY):
            written = self._written(record.id for record in page)
            for record in page:
                new = written[record.id]
                if len(new) < self.least:
                    self.skipped += 1
                    continue
                captions = [
                    self._caption(self.writers.setdefault(writer, first + len(self.writers)), text)
                    for writer, text in new
                ]
                yield replace(record, captions=(*record.captions, *captions))
        if not self.counts:
            raise ExportError(
                f"no image of campaign {self.campaign.name!r} has as many as {self.least or 1} new captions; "
                "wait for more, or ask for fewer"
            )

    def _written(self, images: Iterable[str]) -> defaultdict[str, list[tuple[int, str]]]:
        """Return (writer, text) of the captions of some images, by the image's key, in order of writing."""
        answers = Judgment.objects.filter(
            image__campaign=self.campaign,
            image__image__key__in=list(images),
            kind__in=self.campaign.kinds,
            flag="",
            withdrawn=False,
        )
        if self.reviewed:
            answers = answers.filter(review__decision=AnswerReview.ACCEPTED)
        written: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        columns = ("image__image__key", "worker", "content__text", "review__text")
        for image, writer, text, corrected in answers.order_by("id").values_list(*columns):
            written[image].append((writer, corrected or text))
        return written

    def _caption(self, writer: int, text: str) -> CaptionRecord:
        self.counts[writer] += 1
        return CaptionRecord(text, id=f"w{writer}-{self.counts[writer]}")


def _writers_before(corpus: Corpus) -> int:
    """Return the highest number of a writer in the ids of a corpus's captions, or 0."""
    ids = Caption.objects.filter(image__corpus=corpus).values_list("external_id", flat=True)
    return max((int(match[1]) for id in ids.iterator() if (match := _ID.fullmatch(id))), default=0)
