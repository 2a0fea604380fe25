"""Uploads of corpora, and of images for them: begun, sent in parts, checked, imported, removed. They belong
to an account, so that no command handles them."""

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import File, FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER
from annotation.jobs.kinds import corpus_uploads as uploads

_TAG, _PATH, _RESEARCHERS = "corpora", "uploads/<slug:upload>", Has((RESEARCHER,), server=True)

register(
    title=_("List your uploads of corpora"),
    result=uploads.UploadSummary,
    permission=_RESEARCHERS,
    run=uploads.list_uploads,
    rest=Rest("GET", "uploads", _TAG, route="uploads"),
    command=None,
)
register(
    name="begin_upload",
    title=_("Begin or resume an upload of a corpus"),
    permission=_RESEARCHERS,
    run=uploads.begin_named_upload,
    rest=Rest(
        "POST",
        "uploads",
        _TAG,
        route="uploads",
        own_transactions=True,
        creates="uploads/{key}",
        example={"name": "harbour", "files": [{"path": "harbour.zip", "size": 73400320}]},
    ),
    command=None,
)
register(
    title=_("Show an upload"),
    permission=_RESEARCHERS,
    run=uploads.show_upload,
    rest=Rest("GET", _PATH, _TAG, route="upload"),
    command=None,
)
register(
    name="send_upload_part",
    title=_("Send a part of a file"),
    permission=_RESEARCHERS,
    run=uploads.receive_uploaded_part,
    rest=Rest(
        "POST",
        f"{_PATH}/files/<int:number>",
        _TAG,
        route="upload_file_part",
        own_transactions=True,
        paced=False,
        example={"offset": 0, "sha256": 64 * "0"},
    ),
    command=None,
)
register(
    name="check_upload",
    title=_("Check an upload"),
    permission=_RESEARCHERS,
    run=uploads.check,
    before_job=uploads.check_ready,
    errors=(OSError,),
    as_job=True,
    rest=Rest("POST", f"{_PATH}/check", _TAG, route="upload_check", example={"format": "csv"}),
    command=None,
    page=FormPage(started=_("The check is queued.")),
)
register(
    name="import_upload",
    title=_("Import an upload as a corpus"),
    permission=_RESEARCHERS,
    run=uploads.import_checked,
    before_job=uploads.check_checked,
    errors=(OSError,),
    as_job=True,
    rest=Rest("POST", f"{_PATH}/import", _TAG, route="upload_import", example={"skip_problems": True}),
    command=None,
    page=FormPage(started=_("The import is queued.")),
)
register(
    name="download_upload_problems",
    title=_("Download the problems of an upload"),
    result=File("application/x-ndjson"),
    permission=_RESEARCHERS,
    run=uploads.download_problems,
    rest=Rest("GET", f"{_PATH}/problems", _TAG, route="upload_problem_list"),
    command=None,
    page=FormPage(),
)
register(
    name="remove_upload",
    title=_("Remove an upload"),
    permission=_RESEARCHERS,
    run=uploads.remove,
    rest=Rest("DELETE", _PATH, _TAG, route="upload"),
    command=None,
    page=FormPage(done=_("Upload removed."), leads=lambda result: reverse("uploads")),
)
