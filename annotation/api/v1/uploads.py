"""New corpora by API: files in parts that can be sent again, a check that lists all problems, the import."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import FileResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.contents import json_time
from annotation.api.rest.cursors import CursorPage
from annotation.api.rest.doors import OfServer, missing
from annotation.api.rest.fields import CallFields, NameField, TextField, WholeField
from annotation.api.rest.operations import DELETE, GET, POST, ApiCall, ApiRoute, Created, serves
from annotation.common.roles import RESEARCHER
from annotation.datasets import uploads
from annotation.datasets.uploaded_source import PROBLEMS_FILE
from annotation.datasets.uploads import MOST_FILES, PART_BYTES, Upload, UploadRefused
from annotation.models import Account, Job
from annotation.web.staff.corpora.uploading import NO_UPLOAD, drop_upload, enqueue_check, enqueue_import

_TAG = "corpora"
_OPENS = OfServer((RESEARCHER,))
_ONE = "uploads/<slug:key>"


class UploadFileShown(serializers.Serializer[Any]):
    """A file of an upload: its number, and how many of its bytes have come."""

    number = serializers.IntegerField()
    path = serializers.CharField()
    size = serializers.IntegerField()
    received = serializers.IntegerField()


class UploadShown(serializers.Serializer[Any]):
    """Files that are sent for a new corpus. They are kept for a day."""

    key = serializers.CharField()
    name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes of all files.")
    received = serializers.IntegerField()
    complete = serializers.BooleanField()
    part_bytes = serializers.IntegerField(help_text="Bytes of a part, at most.")
    expires_at = serializers.DateTimeField()


class UploadDetailShown(UploadShown):
    """An upload with its files."""

    files = UploadFileShown(many=True)


class PartTaken(serializers.Serializer[Any]):
    """How many bytes of the file have come."""

    received = serializers.IntegerField()


class SentFile(CallFields):
    """A file that will come: its path as you know it, and its size in bytes."""

    path = serializers.CharField(max_length=1000)
    size = WholeField()


class UploadWanted(CallFields):
    """A corpus of this name, and the files that will come: captions and pictures, or a zip of both. Where you
    have an upload of the same name and files, that is gone on with."""

    name = NameField()
    files = serializers.ListField(child=SentFile(), allow_empty=False, max_length=MOST_FILES)


class PartSent(CallFields):
    """A part of a file: its bytes, where it begins, and its SHA-256 in hexadecimal."""

    offset = WholeField()
    sha256 = serializers.RegexField(r"^[0-9a-f]{64}$")
    part = serializers.FileField(required=False)


class CheckWanted(CallFields):
    """The format in which an upload is read; without it, what it looks like."""

    format = TextField(required=False, max_length=40)


class ImportWanted(CallFields):
    """Whether what is wrong is left out; without that, any problem ends the import."""

    skip_problems = serializers.BooleanField(required=False)


@serves(
    ApiRoute(
        route="uploads", method=GET, path="uploads", tag=_TAG, opens=_OPENS, answers=UploadShown, listed=True
    )
)
def uploads_list_call(call: ApiCall) -> CursorPage:
    """List your uploads for new corpora."""
    return call.rows.of_values(uploads.uploads_of(call.account), lambda one: one.key, _upload_plain)


@serves(
    ApiRoute(
        route="uploads",
        method=POST,
        path="uploads",
        tag=_TAG,
        opens=_OPENS,
        body=UploadWanted,
        makes=True,
        own_transactions=True,
        answers=UploadDetailShown,
        refuses=(UploadRefused,),
        example={"name": "harbour", "files": [{"path": "harbour.zip", "size": 73400320}]},
    )
)
def upload_begin_call(call: ApiCall) -> Created:
    """Begin an upload for a new corpus, or go on with one: quota and disk are checked first."""
    files = [(each["path"], each["size"]) for each in call.data["files"]]
    made = uploads.begin_upload(account=call.account, name=call.data["name"], files=files)
    return Created(_detail_plain(made), reverse("v1_upload", args=[made.key]))


@serves(ApiRoute(route="upload", method=GET, path=_ONE, tag=_TAG, opens=_OPENS, answers=UploadDetailShown))
def upload_show_call(call: ApiCall, key: str) -> dict[str, Any]:
    """Show an upload, and how many bytes of each file have come: from there it is gone on with."""
    return _detail_plain(_own(call.account, key))


@serves(
    ApiRoute(
        route="upload_file_part",
        method=POST,
        path=f"{_ONE}/files/<int:number>",
        tag=_TAG,
        opens=_OPENS,
        body=PartSent,
        uploads=("part",),
        own_transactions=True,
        answers=PartTaken,
        refuses=(UploadRefused,),
        example={"offset": 0, "sha256": 64 * "0"},
    )
)
def upload_part_call(call: ApiCall, key: str, number: int) -> dict[str, Any]:
    """Send a part of a file. Parts come in order, each once: one that begins elsewhere than where the file
    ends so far is refused, so that sending it twice does no harm."""
    upload = _own(call.account, key)
    part = call.request.FILES.get("part")
    if part is None:
        raise UploadRefused(_("No bytes were sent; send them as the field “part”."))
    if part.size is None or part.size > PART_BYTES:
        raise UploadRefused(_("A part has at most %(most)d bytes.") % {"most": PART_BYTES})
    try:
        received = uploads.receive_part(
            upload=upload,
            number=number,
            offset=call.data["offset"],
            data=part.read(),
            sha256=call.data["sha256"],
        )
    except uploads.NoSuchUpload:
        raise missing(str(NO_UPLOAD)) from None
    return {"received": received}


@serves(
    ApiRoute(
        route="upload_check",
        method=POST,
        path=f"{_ONE}/check",
        tag=_TAG,
        opens=_OPENS,
        body=CheckWanted,
        job=True,
        refuses=(UploadRefused,),
        example={"format": "csv"},
    )
)
def upload_check_call(call: ApiCall, key: str) -> Job:
    """Look at a complete upload, as a job: its result has the format, the first rows and all that is
    wrong."""
    return enqueue_check(_own(call.account, key), call.account, call.data.get("format", ""))


@serves(
    ApiRoute(
        route="upload_import",
        method=POST,
        path=f"{_ONE}/import",
        tag=_TAG,
        opens=_OPENS,
        body=ImportWanted,
        job=True,
        refuses=(UploadRefused,),
        example={"skip_problems": True},
    )
)
def upload_import_call(call: ApiCall, key: str) -> Job:
    """Make a corpus of an upload that was checked, as a job."""
    upload = _own(call.account, key)
    return enqueue_import(upload, call.account, skip_problems=call.data.get("skip_problems", False))


@serves(
    ApiRoute(
        route="upload_problem_list",
        method=GET,
        path=f"{_ONE}/problems",
        tag=_TAG,
        opens=_OPENS,
        file="application/x-ndjson",
    )
)
def upload_problems_call(call: ApiCall, key: str) -> FileResponse:
    """Download all that is wrong with an upload that was checked, as JSON lines."""
    file = _own(call.account, key).folder / PROBLEMS_FILE
    try:
        held = file.open("rb")
    except OSError:
        raise missing(_("There is no such file.")) from None
    return FileResponse(held, content_type="application/x-ndjson", as_attachment=True, filename=file.name)


@serves(ApiRoute(route="upload", method=DELETE, path=_ONE, tag=_TAG, opens=_OPENS, refuses=(UploadRefused,)))
def upload_remove_call(call: ApiCall, key: str) -> None:
    """Remove an upload; refused while a job works on it."""
    drop_upload(_own(call.account, key), call.account)


def _own(account: Account, key: str) -> Upload:
    """The account's own upload; those of others are not there."""
    try:
        return uploads.upload_of(account, key)
    except uploads.NoSuchUpload:
        raise missing(str(NO_UPLOAD)) from None


def _upload_plain(upload: Upload) -> dict[str, Any]:
    expires = datetime.fromtimestamp(upload.begun + uploads.UPLOAD_KEPT_SECONDS, UTC)
    return {
        "key": upload.key,
        "name": upload.name,
        "size": upload.size,
        "received": sum(file.received for file in upload.progress()),
        "complete": upload.complete,
        "part_bytes": PART_BYTES,
        "expires_at": json_time(expires),
    }


def _detail_plain(upload: Upload) -> dict[str, Any]:
    files = [
        {"number": one.number, "path": one.path, "size": one.size, "received": one.received}
        for one in upload.progress()
    ]
    return {**_upload_plain(upload), "files": files}
