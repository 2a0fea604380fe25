"""A corpus from an upload that was looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.utils.translation import gettext_lazy

from annotation import audit
from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.datasets.source_problems import IntakeError
from annotation.datasets.uploaded_source import import_upload
from annotation.datasets.uploads import NoSuchUpload, remove_upload, stored_upload
from annotation.formats import FormatError
from annotation.images.pictures import PictureError
from annotation.jobs import JobProgress, job_kind
from annotation.protocol.terms import ImageRecord


@job_kind(
    "import_upload",
    title=gettext_lazy("Import of a corpus"),
    refusals=(NoSuchUpload, FormatError, PictureError, IntakeError, UnknownName, Busy, OSError),
)
def import_upload_job(
    progress: JobProgress, *, upload: str, name: str, format: str, images: int, skip_problems: bool = False
) -> dict[str, Any]:
    """Import an upload as the corpus `name`, leaving out just its problems where that is said.

    `images` is about how many there will be. A killed import starts again. The upload goes with its import.
    """

    def told(records: Iterable[ImageRecord]) -> Iterator[ImageRecord]:
        return progress.over(records, total=max(images, 1), phase="importing", end=0.97)

    found = stored_upload(upload)
    report = import_upload(found, format=format, skip_problems=skip_problems, progress=told)
    audit.record(
        actor=progress.actor,
        act="import_corpus",
        corpus=report.corpus,
        images=report.images,
        captions=report.captions,
        left_out=len(report.problems) if skip_problems else 0,
    )
    remove_upload(found)
    return {
        "corpus": report.corpus,
        "images": report.images,
        "captions": report.captions,
        "pictures": report.pictures,
        "left_out": len(report.problems) if skip_problems else 0,
    }
