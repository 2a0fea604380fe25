"""A corpus with one of its layers as an archive to fetch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.common.locks import exclusive_folder
from annotation.common.registry import UnknownName
from annotation.datasets.archives import pack, remove_archive
from annotation.datasets.exporting import ExportError, simulated_layers
from annotation.datasets.exporting import export_dataset as write
from annotation.images.withdrawn import withdrawn_pictures
from annotation.jobs import JobProgress, job_kind
from annotation.protocol.terms import ImageRecord
from annotation.selectors.corpora import AmbiguousLayer, corpus_named, layer_named

#: The share of the work that is done when the files are written, and are yet to be packed.
WRITTEN = 0.7
#: Pictures weigh more than words.
WRITTEN_BEFORE_PICTURES = 0.2


@job_kind(
    "export_dataset",
    title=gettext_lazy("Export of a dataset"),
    refusals=(UnknownName, AmbiguousLayer, ExportError, OSError),
)
def export_dataset_job(
    progress: JobProgress,
    *,
    corpus: str,
    format: str,
    layer: str | None = None,
    include_unfinished: bool = False,
    only_finished: bool = False,
    with_pictures: bool = False,
    simulated: bool = False,
) -> dict[str, Any]:
    """Write the dataset and pack it; the result has the archive's path, sha256, size and expiry, counts, what
    is to be known of it, and what was left out.

    A file cannot be gone on with in its middle, so that a killed export starts anew; what it
    had written is removed first.
    """
    withdrawn = withdrawn_pictures()
    images = corpus_named(corpus).image_count
    written_share = WRITTEN_BEFORE_PICTURES if with_pictures else WRITTEN

    def told(records: Iterable[ImageRecord]) -> Iterator[ImageRecord]:
        return progress.over(records, total=images, phase="writing", end=written_share)

    def packing(files: Iterable[Path]) -> Iterator[Path]:
        found = list(files)
        return progress.over(found, total=len(found), phase="packing", start=written_share)

    found = layer_named(corpus_named(corpus), layer)
    parts = (corpus, layer, format, "simulated" if found and simulated_layers([found]) else None)
    name = "-".join(re.sub(r"[^-\w]+", "_", part) for part in parts if part)
    with exclusive_folder(f"export.{progress.job_id}", busy="this export is being written already") as folder:
        written = write(
            corpus=corpus,
            format=format,
            out=folder / "dataset",
            layer=layer,
            include_unfinished=include_unfinished,
            only_finished=only_finished,
            with_pictures=with_pictures,
            simulated=simulated,
            progress=told,
        )
        made = pack(folder / "dataset", f"{name}-{progress.job_id}", progress=packing)
    if with_pictures and withdrawn_pictures() != withdrawn:
        remove_archive(made.path)
        raise ExportError(_("A picture was withdrawn meanwhile: export again."))
    counted = {"counts": dict(written.counts), "left_out": dict(written.left_out)}
    return {**made._asdict(), **counted, "notes": written.notes}
