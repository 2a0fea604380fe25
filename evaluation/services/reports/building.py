"""Reports: built into a folder that appears only when it is complete, and stored as rows.

Building a report of the same name from the same inputs leaves it unchanged, byte for byte; if qrels, runs,
settings, a batch or the libraries changed, it is refused with a list of the changes, unless it is to be
replaced. The folder is built in a temporary place and moved in one step, so that a killed build leaves no
report.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import mark_safe

from annotation import audit
from annotation.common.locks import locked_folder
from annotation.common.operations import NewFile, OperationContext, invalid
from annotation.common.roles import RESEARCHER
from annotation.selectors.corpora import row_named
from evaluation.comparison.original_pairs import OriginalPairs
from evaluation.figures.files import as_pdf, as_svg
from evaluation.models import Batch, Report, ReportRun, Run
from evaluation.reporting import document
from evaluation.reporting.document import BatchNumbers
from evaluation.reporting.layout import report_json, table_files
from evaluation.selectors import run_named
from evaluation.services.common import recover_folder, replace_folder
from evaluation.services.reports.findings import FindingsProgress, compute_findings
from evaluation.services.reports.request import (
    ReportError,
    ReportRequest,
    ReportRows,
    ReportSources,
    batch_numbers,
    digest_of_data,
    inputs_now,
    report_rows,
    report_sources,
)
from evaluation.services.request_fields import check_images
from evaluation.services.stored import remove_stored
from evaluation.services.stored_kinds import REPORTS
from phrasebox.errors import PhraseboxError
from phrasebox.figure_tables import as_csv
from phrasebox.registry import UnknownName

JSON, HTML, _SUMS = "report.json", "report.html", "SHA256SUMS"
#: The share of the work after which everything is computed and drawing starts.
_COMPUTED = 0.8
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class BuiltReport:
    """A report. `unchanged`: it existed already; `changes`: differences from the one it replaced."""

    report: str
    unchanged: bool
    changes: tuple[str, ...]
    files: tuple[str, ...]
    digest: str


def check_report(request: ReportRequest, context: OperationContext) -> ReportRequest:
    """Raise as `report_rows` does, and Invalid where another report has the name and is not to be replaced,
    or is not visible to the caller."""
    if Report.objects.filter(name=request.name).exists() and not (
        request.replace and REPORTS.find(request.name, context.actor, (RESEARCHER,)) is not None
    ):
        raise invalid("name", "taken", value=request.name)
    check_images("split", request.split, run_named(request.runs[0]).corpus, context, runs=True)
    # Counting a batch takes time, and is left to the job.
    report_rows(replace(request, batch=None), by_path=context.by_path)
    return request


def build_report(request: ReportRequest, context: OperationContext) -> BuiltReport:
    """Build the report, in DATA_DIR/reports/NAME.

    Raises UnknownName, UnknownMeasure, PhraseboxError, BatchError, InputError, Busy, else ReportError; then
    an earlier report stays as it was, and nothing else remains.
    """
    name, progress = request.name, _progress(context)
    with locked_folder(
        f"report.{name}", busy=f"report {name!r} is already being built; wait until it is finished"
    ) as work:
        target = report_folder(name)
        recover_folder(target)
        inquiry = report_rows(request, by_path=context.by_path)
        digest = digest_of_data(inquiry.inputs)
        row = Report.objects.filter(name=name).first()
        # A folder without a row was left by a killed process.
        changes = tuple(document.changed_inputs(row.inputs, inquiry.inputs)) if row is not None else ()
        if row is not None and not changes and row.digest == digest and _whole(target, row.files):
            return BuiltReport(name, True, (), tuple(row.files), digest)
        if changes and not request.replace:
            raise ReportError(
                f"report {name!r} already exists with other inputs ({'; '.join(changes)}); choose "
                "another name, or replace it"
            )
        files = _files(inquiry, progress)
        built = work / "report"
        for file, content in files.items():
            (built / file).parent.mkdir(parents=True, exist_ok=True)
            (built / file).write_bytes(content)
        context.report_progress("saving the report", 1.0)
        sums = {file: _sha256(content) for file, content in files.items()}
        try:
            with transaction.atomic():
                _store_report(inquiry, digest, sums)
                audit.record(actor=context.actor, act="build_report", report=name, digest=digest)
                # An input that was removed meanwhile must be reported before an existing report is moved.
                connection.check_constraints(table_names=[ReportRun._meta.db_table, Report._meta.db_table])
                replace_folder(built, target)
        except IntegrityError as error:
            raise ReportError(
                f"something that report {name!r} is made from was removed while it was built; build it again"
            ) from error
    return BuiltReport(name, False, changes, tuple(files), digest)


def _progress(context: OperationContext) -> FindingsProgress:
    """Return a callback that reports a report's progress to the context; figures are drawn last."""

    def report(phase: str, done: int, of: int) -> None:
        start, end = (_COMPUTED, 1.0) if phase.startswith("drawing") else (0.0, _COMPUTED)
        context.report_progress(phase, start + (end - start) * done / of)

    return report


def packed_report(row: Report) -> NewFile:
    """Return all files of a report in one archive, with the same bytes for the same report; writing it raises
    ReportError if a file is missing or damaged."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            for file in row.files:
                out.writestr(zipfile.ZipInfo(f"{row.name}/{file}", _LONG_AGO), read_report_file(row, file))

    return NewFile(f"{row.name}.zip", write)


def remove_report(name: str, *, actor: Any = None) -> None:
    """Remove a report and its files; raises UnknownName, Busy."""
    remove_stored(report_named(name), actor, folders=(report_folder(name),))


def report_named(name: str) -> Report:
    """Return the report of that name; raises UnknownName listing what exists."""
    return row_named(Report.objects.select_related("corpus", "qrels", "batch"), name)


def report_folder(name: str) -> Path:
    """Return the folder of a stored report."""
    return Path(settings.DATA_DIR) / "reports" / name


def read_report_file(row: Report, file: str) -> bytes:
    """Return the content of a report's file; raises UnknownName for a file that it does not have, ReportError
    for one that was changed."""
    if file not in row.files:
        raise UnknownName(f"report {row.name!r} has no file {file!r}")
    try:
        content = (report_folder(row.name) / file).read_bytes()
    except OSError as error:
        raise ReportError(f"{file} of report {row.name!r} is missing; build the report again") from error
    if _sha256(content) != row.files[file]:
        raise ReportError(
            f"{file} of report {row.name!r} was changed after it was built; build the report again"
        )
    return content


def outdated(row: Report, *, numbers: Callable[[Batch], BatchNumbers] = batch_numbers) -> list[str]:
    """Return which inputs have changed since the report was built, a phrase each, in the words of
    `build_report`.

    For qrels the newest version counts, whichever the report used. `numbers` returns those of a batch.
    """
    return outdated_reports([row], numbers=numbers)[row.pk]


def outdated_reports(
    rows: Sequence[Report], *, numbers: Callable[[Batch], BatchNumbers] = batch_numbers
) -> dict[int, list[str]]:
    """Return `outdated` by report id. Each batch, and each part of a corpus of a report, is read separately;
    everything else takes the same number of queries for any number of reports."""
    sources, numbers = report_sources(rows), cache(numbers)
    return {row.pk: _changed(row, numbers, sources) for row in rows}


def _changed(row: Report, numbers: Callable[[Batch], BatchNumbers], sources: ReportSources) -> list[str]:
    try:
        return document.changed_inputs(row.inputs, inputs_now(row, numbers, sources))
    except (UnknownName, PhraseboxError) as error:
        return [str(error)]


def _files(inquiry: ReportRows, progress: FindingsProgress) -> dict[str, bytes]:
    """Return the report's files: path within its folder -> content."""
    report = compute_findings(inquiry, progress)
    sections = document.sections_of(report)
    plots = [plot for section in sections for plot in section.plots]
    text = report_json(report, sections)
    files: dict[str, bytes] = {}
    pictures: dict[str, str] = {}
    for number, plot in enumerate(plots):
        progress(f"drawing {plot.key}", number, len(plots))
        pictures[plot.key] = as_svg(plot)
        files[f"figures/{plot.key}.svg"] = pictures[plot.key].encode()
        files[f"figures/{plot.key}.pdf"] = as_pdf(plot)
        files[f"figures/{plot.key}.csv"] = f"{as_csv(plot.data)}\n".encode()
    for section in sections:
        for titled in section.tables:
            files.update({name: text.encode() for name, text in table_files(titled).items()})
    files[JSON] = text.encode()
    files[HTML] = _page(json.loads(text), pictures).encode()
    files = dict(sorted(files.items()))
    sums = "".join(f"{_sha256(content)}  {name}\n" for name, content in files.items())
    return {**files, _SUMS: sums.encode()}


def _page(report: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """Return the report as one self-contained page, in English for every reader."""
    with translation.override("en"):
        return render_to_string(
            "evaluation/report_document.html", {"report": report, "sections": illustrated(report, pictures)}
        )


def illustrated(report: Mapping[str, Any], pictures: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the sections of a report's JSON, with the pictures of its figures: SVG that we generated."""
    return [
        {
            **section,
            "figures": [
                {**figure, "svg": mark_safe(pictures[figure["key"]])} for figure in section["figures"]
            ],
        }
        for section in report["sections"]
    ]


def _store_report(inquiry: ReportRows, digest: str, files: Mapping[str, str]) -> None:
    runs: list[Run] = [run for of_direction in inquiry.runs.values() for run in of_direction]
    with transaction.atomic():
        existing = Report.objects.filter(name=inquiry.request.name).first()
        if existing is not None and existing.corpus_id != inquiry.snapshot.corpus_id:
            raise ReportError(
                f"report {inquiry.request.name!r} already exists for another corpus; choose another name"
            )
        row, _ = Report.objects.update_or_create(
            name=inquiry.request.name,
            defaults={
                "corpus": inquiry.snapshot.corpus,
                "qrels": None if isinstance(inquiry.snapshot, OriginalPairs) else inquiry.snapshot,
                "batch": inquiry.batch_row,
                "inputs": inquiry.inputs,
                "digest": digest,
                "files": files,
            },
        )
        ReportRun.objects.filter(report=row).delete()
        ReportRun.objects.bulk_create(
            ReportRun(report=row, run=run, position=position, digest=run.digest)
            for position, run in enumerate(runs)
        )


def _whole(target: Path, sums: Mapping[str, str]) -> bool:
    """Whether every file exists, as it was written."""
    return bool(sums) and all(
        (target / name).is_file() and _sha256((target / name).read_bytes()) == value
        for name, value in sums.items()
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
