"""Exporting a campaign as a release bundle: a command writes a folder, a job an archive to download."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from annotation.common.locks import locked_folder
from annotation.common.operations import OperationContext
from annotation.datasets.archives import pack
from annotation.datasets.bundles.writing import check_bundle, write_bundle
from annotation.jobs.kinds.export_dataset import WRITTEN, ExportedDataset, Simulated, exported
from annotation.models import OpenImage
from annotation.selectors.corpora import CampaignRequest

_FORMAT = "bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportBundleRequest(CampaignRequest):
    """Answers, rulings, phrases, settings, control items, datasheet and dataset, with a script that
    recomputes the dataset from the answers. Pseudonyms are new, and times are rounded to days. A command
    writes a folder, which is complete once it exists; otherwise an archive is created, and stored for a
    week."""

    simulated: Simulated = False


def check_bundle_request(request: ExportBundleRequest, context: OperationContext) -> ExportBundleRequest:
    """Raise what the export would raise, before its job is queued."""
    check_bundle(request.row(), simulated=request.simulated)
    return request


def export_bundle(request: ExportBundleRequest, context: OperationContext) -> ExportedDataset:
    """Write the bundle; a job writes an archive. A killed export starts again."""
    campaign, progress = request.row(), context.progress
    total = OpenImage.objects.filter(campaign=campaign).count()
    if context.out is not None:
        track = context.progress_of("writing", total)
        written = write_bundle(
            campaign=campaign, out=context.out, simulated=request.simulated, progress=track
        )
        return exported(_FORMAT, written, path=str(context.out))

    def writing(images: Iterable[int]) -> Iterator[int]:
        return progress.over(images, total=total, phase="writing", end=WRITTEN)

    def packing(files: Iterable[Path]) -> Iterator[Path]:
        written_files = list(files)
        return progress.over(written_files, total=len(written_files), phase="packing", start=WRITTEN)

    with locked_folder(f"export.{progress.job_id}", busy="this export is being written already") as folder:
        out = folder / _FORMAT
        written = write_bundle(campaign=campaign, out=out, simulated=request.simulated, progress=writing)
        simulated = "-simulated" if campaign.simulated else ""
        name = f"{campaign.name}-{_FORMAT}{simulated}-{progress.job_id}"
        return exported(_FORMAT, written, **pack(out, name, progress=packing)._asdict())
