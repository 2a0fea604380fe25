"""Uploads of a new corpus, or of images for one, in parts, each of which may be repeated; jobs check and
import the files."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import ConfigDict, Field

from annotation import audit
from annotation.common.files import stored_file
from annotation.common.operations import (
    LEAVE_UNUSED,
    FileUpload,
    Help,
    Listing,
    Named,
    NewFile,
    OneOf,
    OperationContext,
    StoredKind,
    check_used,
    invalid,
    read_result,
)
from annotation.datasets import uploads
from annotation.datasets.uploaded_source import PROBLEMS_FILE, CheckedUpload, check_upload, import_upload
from annotation.datasets.uploads import PART_BYTES, Upload, UploadError
from annotation.jobs.kinds.corpus_imports import (
    AskingCampaigns,
    ask_about_added,
    check_campaigns,
    readable_formats,
)
from annotation.models import Account, Corpus, Job
from phrasebox.balance import BalanceSheet

#: The operations whose jobs read an upload.
CHECK, IMPORT_UPLOAD = "check_upload", "import_upload"
#: The largest number of problems and files in the result of a check; the upload's own lists are complete.
MOST_PROBLEMS_LISTED, MOST_FILES_LISTED = 200, 50


class _Uploads(StoredKind):
    """The uploads of an account; they are folders, not rows."""

    def find(self, name: Any, account: Any, roles: Iterable[str]) -> Any:
        """Return the upload with that key; those of others count as missing."""
        try:
            return uploads.upload_of(account, name)
        except uploads.NoSuchUpload:
            return None

    def names(self, account: Any, roles: Iterable[str]) -> Sequence[str]:
        """Return the keys of the account's uploads."""
        return [upload.key for upload in uploads.uploads_of(account)]


UPLOADS = _Uploads(_("upload"), lambda account, *roles: Corpus.objects.none(), column="key")


@dataclass(frozen=True, slots=True)
class UploadsRequest:
    """They are stored for a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest:
    """The received bytes of each file, from which the upload resumes."""

    upload: Annotated[str, Named(UPLOADS), Help(_("Upload"), _("Its key"))]

    def stored(self) -> Upload:
        """Return the upload; raises NoSuchUpload if it has expired."""
        return uploads.stored_upload(self.upload)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedFile:
    """A file that will come: its path as you know it, and its size in bytes."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(max_length=1000)]
    size: Annotated[int, Field(ge=0, le=2**53)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginUploadRequest:
    """Captions and pictures, or a zip of both. Quota and disk are checked first. An unfinished upload of
    yours with the same name and files is resumed."""

    name: Annotated[str, Named(), Help(_("Name of the corpus"))]
    files: Annotated[
        tuple[AnnouncedFile, ...],
        Field(min_length=1, max_length=uploads.MOST_FILES),
        Help(_("Files"), _("To be sent")),
    ]
    add: Annotated[bool, Help(_("Add"), _("Add the images to the corpus of this name, which exists"))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPartRequest(UploadRequest):
    """Parts are sent in order: one that does not begin at the end of the received data is rejected, so that
    sending it twice does no harm."""

    number: Annotated[int, Field(ge=0, lt=uploads.MOST_FILES)]
    offset: Annotated[int, Field(ge=0, le=2**53), Help(_("Offset"), _("Where it begins, in bytes"))]
    sha256: Annotated[
        str, Field(min_length=64, max_length=64), Help(_("SHA-256"), _("Of the part, in hexadecimal"))
    ]
    part: Annotated[Path, FileUpload(most=PART_BYTES), Help(_("Part"), _("Its bytes"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckUploadRequest(UploadRequest):
    """The result has the format, the first rows and all problems. A killed check starts again."""

    format: Annotated[
        Annotated[str, OneOf(readable_formats, _("detected from the files"))] | None, Help(_("Format"))
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportUploadRequest(UploadRequest):
    """It must be checked first. The upload is deleted after its import. The campaigns are those of a corpus
    that images are added to."""

    skip_problems: Annotated[
        bool, Help(_("Skip problems"), _("Leave out what is wrong; else any problem ends the import"))
    ] = False
    leave_unused: Annotated[bool, LEAVE_UNUSED] = False
    campaigns: AskingCampaigns = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUploadRequest(UploadRequest):
    """Rejected while a job uses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadProblemsRequest(UploadRequest):
    """All problems of a checked upload, as JSON lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedFile:
    """A file of an upload: its number, and the number of bytes received."""

    number: int
    path: str
    size: int
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedPart:
    """The number of bytes of the file received so far."""

    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadSummary:
    """An upload of a new corpus, or with `add` of images for an existing one: its total size in bytes, and
    the maximum size of a part. Uploads are stored for a day."""

    key: str
    name: str
    add: bool
    size: int
    received: int
    complete: bool
    part_bytes: int
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadDetail(UploadSummary):
    """An upload with its files."""

    files: tuple[ReceivedFile, ...]


@dataclass(frozen=True, kw_only=True)
class UploadCheck(CheckedUpload):
    """The content of an upload, with the SHA-256 of its first files and the number of files, the first
    problems, the number of each kind, and how many of them would stop an import that skips nothing."""

    sha256_count: int
    problem_count: int
    problem_sorts: dict[str, int]
    blocking: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedUpload:
    """The corpus with the images of an upload, the numbers of these, the number of skipped problems, the
    balance sheet, and how many of added images each campaign asks about."""

    corpus: str
    images: int
    captions: int
    pictures: int
    skipped: int
    sheet: BalanceSheet
    campaigns: dict[str, int]


def list_uploads(request: UploadsRequest, context: OperationContext) -> Listing:
    """Return the caller's uploads."""
    uploads_of_account = uploads.uploads_of(context.actor)
    return Listing(
        uploads_of_account, lambda upload: upload.key, lambda upload: UploadSummary(**_about(upload))
    )


def begin_named_upload(request: BeginUploadRequest, context: OperationContext) -> UploadDetail:
    """Begin an upload, or continue one. Raises UploadError."""
    files = [(file.path, file.size) for file in request.files]
    upload = uploads.begin_upload(account=context.actor, name=request.name, files=files, add=request.add)
    return _detail(upload)


def show_upload(request: UploadRequest, context: OperationContext) -> UploadDetail:
    """Return an upload."""
    return _detail(request.stored())


def receive_uploaded_part(request: UploadPartRequest, context: OperationContext) -> ReceivedPart:
    """Store a part of a file. Raises UploadError."""
    try:
        received = uploads.receive_part(
            upload=request.stored(),
            number=request.number,
            offset=request.offset,
            data=request.part.read_bytes(),
            sha256=request.sha256,
        )
    except uploads.NoSuchUpload as error:
        raise invalid("number", "unknown", kind=_("file"), value=request.number) from error
    return ReceivedPart(received=received)


def check_ready(request: UploadRequest, context: OperationContext) -> Any:
    """Raise UploadError for an upload that is incomplete, or that a job reads."""
    _refuse_busy(context.actor, request.upload, _("This upload is being worked on already."))
    if not request.stored().complete:
        raise UploadError(str(_("Some files have not come yet: choose them again to resume.")))
    return request


def check_checked(request: ImportUploadRequest, context: OperationContext) -> Any:
    """Raise UploadError for an upload that is incomplete, or not checked, and as `check_campaigns`."""
    check_ready(request, context)
    upload = request.stored()
    check_campaigns(request.campaigns, upload.name, add=upload.add)
    checked = checked_upload(context.actor, request.upload)
    if checked is None:
        raise UploadError(str(_("The upload is not checked yet: check it first.")))
    sheet = read_result(BalanceSheet, checked.result["sheet"])
    check_used(sheet, leave_unused=request.leave_unused)
    return request


def check(request: CheckUploadRequest, context: OperationContext) -> UploadCheck:
    """Check an upload, in the requested format or the one that it appears to have."""
    report = check_upload(
        request.stored(), format=request.format or "", report_progress=context.report_progress
    )
    about = {report_field.name: getattr(report, report_field.name) for report_field in fields(report)}
    about["sha256"] = dict(sorted(report.sha256.items())[:MOST_FILES_LISTED])
    about["problems"] = report.problems[:MOST_PROBLEMS_LISTED]
    return UploadCheck(
        **about,
        sha256_count=len(report.sha256),
        problem_count=len(report.problems),
        problem_sorts=dict(Counter(problem.sort for problem in report.problems)),
        blocking=sum(problem.blocks for problem in report.problems),
    )


def import_checked(request: ImportUploadRequest, context: OperationContext) -> ImportedUpload:
    """Import an upload as a corpus, in the way its check read it. A killed import starts again."""
    upload, checked = request.stored(), checked_upload(context.actor, request.upload)
    if checked is None:
        raise UploadError(str(_("The upload is not checked yet: check it first.")))
    report = import_upload(
        upload,
        format=checked.result["format"],
        skip_problems=request.skip_problems,
        leave_unused=request.leave_unused,
        actor=context.actor,
        progress=context.progress_of("importing", checked.result["images"]),
    )
    skipped = len(report.problems) if request.skip_problems else 0
    counts: dict[str, Any] = {"images": report.images, "captions": report.captions, "skipped": skipped}
    if upload.add:
        report = ask_about_added(request.campaigns, report, context)
    else:
        audit.record(actor=context.actor, act="import_corpus", corpus=report.corpus, **counts)
    uploads.remove_upload(upload)
    return ImportedUpload(
        corpus=report.corpus,
        pictures=report.pictures,
        sheet=report.sheet,
        campaigns=dict(report.campaigns),
        **counts,
    )


def remove(request: RemoveUploadRequest, context: OperationContext) -> None:
    """Remove an upload. Raises UploadError."""
    _refuse_busy(context.actor, request.upload, _("Its job is under way: cancel that first."))
    uploads.remove_upload(request.stored())


def download_problems(request: UploadProblemsRequest, context: OperationContext) -> NewFile:
    """Return the list of problems as a file."""
    file = request.stored().folder / PROBLEMS_FILE
    if not file.exists():
        raise invalid("upload", "no_download", value=request.upload)
    return stored_file(file)


def newest_upload_job(account: Account, key: str) -> Job | None:
    """Return the newest job of this account about an upload."""
    rows = Job.objects.filter(kind__in=(CHECK, IMPORT_UPLOAD), arguments__upload=key)
    return rows.filter(created_by_id=account.pk).select_related("created_by").order_by("-pk").first()


def checked_upload(account: Account, key: str) -> Job | None:
    """Return the newest finished check of an upload, if there is one."""
    rows = Job.objects.filter(kind=CHECK, arguments__upload=key, created_by_id=account.pk)
    newest = rows.order_by("-pk").first()
    return newest if newest is not None and newest.state == Job.DONE else None


def _refuse_busy(account: Account, key: str, why: Any) -> None:
    job = newest_upload_job(account, key)
    if job is not None and job.state in Job.LIVE:
        raise UploadError(str(why))


def _about(upload: Upload) -> dict[str, Any]:
    return {
        "key": upload.key,
        "name": upload.name,
        "add": upload.add,
        "size": upload.size,
        "received": sum(file.received for file in upload.progress()),
        "complete": upload.complete,
        "part_bytes": uploads.PART_BYTES,
        "expires_at": datetime.fromtimestamp(upload.begun + uploads.UPLOAD_LIFETIME, UTC),
    }


def _detail(upload: Upload) -> UploadDetail:
    return UploadDetail(
        **_about(upload), files=tuple(ReceivedFile(**asdict(file)) for file in upload.progress())
    )
