"""Exporting a corpus with one of its layers: a command writes a folder, a job an archive to download."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _

from annotation.common.files import stored_file
from annotation.common.locks import locked_folder
from annotation.common.operations import Help, NewFile, OneOf, OperationContext, invalid, result_of
from annotation.datasets.archives import file_of, pack, remove_archive
from annotation.datasets.contents.corpus_summaries import CorpusRequest
from annotation.datasets.contents.images import LayerName
from annotation.datasets.exporting import ExportChoice, ExportError, check_export, simulated_layers
from annotation.datasets.exporting import export_dataset as write
from annotation.datasets.layers import update_layers
from annotation.formats import FORMATS, Written
from annotation.images.withdrawn import withdrawn_pictures
from annotation.jobs.status import JobRequest
from annotation.models import Job
from annotation.protocol.terms import ImageRecord
from annotation.selectors.corpora import CampaignRequest, corpus_named, layer_named

#: The operations whose jobs create an archive.
EXPORTS = ("export_dataset", "export_campaign", "export_bundle")
#: The share of the work after which the files are written and packing begins.
WRITTEN = 0.7
#: The same with pictures, whose packing takes longer.
WRITTEN_BEFORE_PICTURES = 0.2


def _writable() -> dict[str, None]:
    return {entry.key: None for entry in FORMATS if entry.writes}


def _ways() -> dict[str, Any]:
    return {"leave_out": _("leave them out"), "include": _("export them unfinished")}


_Format = Annotated[str, OneOf(_writable), Help(_("Format"))]
_Unfinished = Annotated[
    Annotated[str, OneOf(_ways, _("do not export if there are any"))] | None,
    Help(_("Unfinished images"), _("By default an export is refused while there are any")),
]
_Pictures = Annotated[bool, Help(_("Pictures"), _("With the pictures"))]
#: Whether an export may contain simulated answers.
Simulated = Annotated[
    bool, Help(_("Simulated"), _("The answers may be those of a simulation, which no person gave"))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportDatasetRequest(CorpusRequest):
    """Captions, and the mentions, chains and boxes of a layer, updated from its newest answers. A command
    writes a folder, which is complete once it exists; otherwise an archive is created, and stored for a
    week."""

    format: _Format
    layer: Annotated[LayerName | None, Help(_("Layer"), _("Needed where there are several"))] = None
    unfinished: _Unfinished = None
    pictures: _Pictures = False
    simulated: Simulated = False

    def choice(self) -> ExportChoice:
        """The content of the export."""
        return {
            "include_unfinished": self.unfinished == "include",
            "only_finished": self.unfinished == "leave_out",
            "with_pictures": self.pictures,
            "simulated": self.simulated,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCampaignRequest(CampaignRequest):
    """The corpus with the layer of the campaign's answers. A command writes a folder, which is complete once
    it exists; otherwise an archive is created, and stored for a week."""

    format: _Format
    unfinished: _Unfinished = None
    pictures: _Pictures = False
    simulated: Simulated = False

    def of_corpus(self) -> ExportDatasetRequest:
        """The same as a request about the corpus."""
        row = self.row()
        return result_of(ExportDatasetRequest, self, corpus=row.corpus.name, layer=row.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadExportRequest(JobRequest):
    """The archive of an export, while it is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDataset:
    """The written files: their location, remarks, and what was excluded; for an archive also its SHA-256, its
    size in bytes and when it expires."""

    path: str
    format: str
    counts: dict[str, int]
    excluded: dict[str, int]
    notes: tuple[str, ...]
    sha256: str | None = None
    size: int | None = None
    expires_at: str | None = None


def check_dataset(request: ExportDatasetRequest, context: OperationContext) -> ExportDatasetRequest:
    """Raise what the export would raise, as far as that is known before anything is written."""
    update_layers(request.row(), request.layer)
    check_export(corpus=request.corpus, format=request.format, layer=request.layer, **request.choice())
    return request


def check_campaign(request: ExportCampaignRequest, context: OperationContext) -> ExportCampaignRequest:
    """Do the same for the layer of a campaign."""
    check_dataset(request.of_corpus(), context)
    return request


def export_campaign(request: ExportCampaignRequest, context: OperationContext) -> ExportedDataset:
    """Export the layer of a campaign."""
    return export_layer(request.of_corpus(), context)


def export_layer(request: ExportDatasetRequest, context: OperationContext) -> ExportedDataset:
    """Write the dataset; a job writes an archive.

    A half-written file cannot be continued, so a killed export starts again and first removes what it had
    written.
    """
    corpus, progress = corpus_named(request.corpus), context.progress
    about = {"corpus": corpus.name, "format": request.format, "layer": request.layer}
    if context.out is not None:
        track = context.progress_of("writing", corpus.image_count)
        written = write(**about, out=context.out, progress=track, **request.choice())  # type: ignore[arg-type]
        return exported(request.format, written, path=str(context.out))
    withdrawn = withdrawn_pictures()
    written_share = WRITTEN_BEFORE_PICTURES if request.pictures else WRITTEN

    def writing(records: Iterable[ImageRecord]) -> Iterator[ImageRecord]:
        return progress.over(records, total=corpus.image_count, phase="writing", end=written_share)

    def packing(files: Iterable[Path]) -> Iterator[Path]:
        written_files = list(files)
        return progress.over(written_files, total=len(written_files), phase="packing", start=written_share)

    with locked_folder(f"export.{progress.job_id}", busy="this export is being written already") as folder:
        written = write(**about, out=folder / "dataset", progress=writing, **request.choice())  # type: ignore[arg-type]
        archive = pack(folder / "dataset", f"{_name(request)}-{progress.job_id}", progress=packing)
    if request.pictures and withdrawn_pictures() != withdrawn:
        remove_archive(archive.path)
        raise ExportError(str(_("A picture was withdrawn meanwhile: export again.")))
    return exported(request.format, written, **archive._asdict())


def exported(format: str, written: Written, **more: Any) -> ExportedDataset:
    """Return the result of an export from what was `written`; `more` says where it is."""
    return ExportedDataset(
        format=format,
        counts=dict(written.counts),
        excluded=dict(written.excluded),
        notes=tuple(written.notes),
        **more,
    )


def _name(request: ExportDatasetRequest) -> str:
    layer = layer_named(corpus_named(request.corpus), request.layer)
    simulated = "simulated" if layer and simulated_layers([layer]) else None
    parts = (request.corpus, request.layer, request.format, simulated)
    return "-".join(re.sub(r"[^-\w]+", "_", part) for part in parts if part)


def download_export(request: DownloadExportRequest, context: OperationContext) -> NewFile:
    """Return the archive of an export. Raises DownloadExpired."""
    job = Job.objects.get(pk=request.job)
    if job.kind not in EXPORTS or job.state != Job.DONE:
        raise invalid("job", "no_download", value=request.job)
    return stored_file(file_of(job.result["path"]))
