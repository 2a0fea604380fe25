"""Upload of a corpus: files are sent in parts, checked, and imported as a job.

The script `upload.js` begins it and sends the parts by the API; an interrupted upload resumes.
"""

import math
from pathlib import Path
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.common.operations import read_result, sheet_notes, sheet_rows
from annotation.common.roles import RESEARCHER
from annotation.datasets import uploads
from annotation.datasets.corpus_uses import why_images_fixed
from annotation.datasets.english import ENGLISH_ENOUGH
from annotation.datasets.source_problems import BAD_LINE, BAD_PICTURE, NO_CAPTION, NO_PICTURE, REPEATED
from annotation.datasets.uploaded_source import preview_picture
from annotation.datasets.uploads import Upload
from annotation.formats import FORMATS
from annotation.jobs.kinds.corpus_imports import campaigns_that_can_ask
from annotation.jobs.kinds.corpus_uploads import IMPORT_UPLOAD, checked_upload, newest_upload_job
from annotation.models import Corpus, Job
from annotation.web.common.access import account_of, for_roles_of_server
from annotation.web.staff.campaign_pages import act_form
from annotation.web.staff.job_lines import job_line
from phrasebox.balance import BalanceSheet

_NO_UPLOAD = gettext_lazy("There is no such upload: it expired, or it is somebody else’s.")
#: Labels of sorts of problems.
SORTS_IN_WORDS = {
    BAD_LINE: gettext_lazy("bad line"),
    BAD_PICTURE: gettext_lazy("corrupt picture"),
    REPEATED: gettext_lazy("repeated"),
    NO_PICTURE: gettext_lazy("no picture"),
    NO_CAPTION: gettext_lazy("no caption"),
}


@require_safe
@never_cache
@for_roles_of_server(RESEARCHER)
def upload_list(request: HttpRequest) -> HttpResponse:
    """Show the page that begins an upload, of a new corpus or for the one that is named, and the account's
    unfinished uploads."""
    name = request.GET.get("add", "")
    corpus = Corpus.objects.filter(published=True, name=name).first() if name.isprintable() else None
    own_uploads = uploads.uploads_of(account_of(request))
    about = {
        "uploads": [(upload, _percent(upload)) for upload in own_uploads],
        "corpus": corpus,
        "why_fixed": why_images_fixed(corpus) if corpus else "",
        "form": act_form(request, "begin_upload"),
        "formats": [reader.title for reader in FORMATS if reader.reads],
    }
    return render(request, "annotation/uploads.html", about)


@require_safe
@never_cache
@for_roles_of_server(RESEARCHER)
def upload_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Show one upload: its progress, its content, its problems, and its import."""
    job = newest_upload_job(account_of(request), key)
    if job is not None and job.kind == IMPORT_UPLOAD and job.state == Job.DONE:
        name = job.result["corpus"]
        if Corpus.objects.filter(published=True, name=name).exists():
            return redirect("corpus", name)
        return render(request, "annotation/upload_deleted.html", {"name": name})
    upload = _upload_of(request, key)
    checked = checked_upload(account_of(request), key)
    corpus = Corpus.objects.filter(published=True, name=upload.name).first() if upload.add else None
    line = job_line(job) if job is not None else None
    waits = job is not None and job.state in Job.LIVE
    format = checked.arguments.get("format", "") if checked is not None else ""
    about: dict[str, Any] = {
        "upload": upload,
        "campaigns": campaigns_that_can_ask(corpus) if corpus else [],
        "form": act_form(request, "check_upload", format=format),
        "percent": _percent(upload),
        "complete": upload.complete,
        "jobs": [line] if line and (waits or line.ended_badly) else [],
        "live": waits,
        "checked": None if waits or checked is None else _in_words(checked),
        "expires": uploads.UPLOAD_LIFETIME // 3600,
    }
    return render(request, "annotation/upload.html", about)


@require_safe
@for_roles_of_server(RESEARCHER)
def upload_preview(request: HttpRequest, key: str, number: int) -> HttpResponseBase:
    """Serve the small picture of a row of the preview."""
    return _file(preview_picture(_upload_of(request, key), number), "image/jpeg")


def _file(file: Path, content_type: str) -> HttpResponseBase:
    try:
        return FileResponse(file.open("rb"), content_type=content_type)
    except OSError:
        raise Http404(_("There is no such file.")) from None


def _upload_of(request: HttpRequest, key: str) -> Upload:
    """Return the caller's upload of an address; those of others raise Http404."""
    try:
        return uploads.upload_of(account_of(request), key)
    except uploads.NoSuchUpload:
        raise Http404(str(_NO_UPLOAD)) from None


def _percent(upload: Upload) -> int:
    received = sum(file.received for file in upload.progress())
    return math.floor(100 * received / upload.size) if upload.size else 100


def _in_words(job: Job) -> dict[str, Any]:
    """Return the result of a check for the page."""
    result: dict[str, Any] = job.result
    problems = [{**problem, "sort": SORTS_IN_WORDS[problem["sort"]]} for problem in result["problems"]]
    sheet = read_result(BalanceSheet, result["sheet"])
    sorts = [(SORTS_IN_WORDS[sort], count) for sort, count in result["problem_sorts"].items()]
    return {
        **result,
        "problems": problems,
        "sorts": sorts,
        "sheet": list(sheet_rows(sheet)),
        "notes": sheet_notes(sheet),
        "unused": sum(rest.count for kind, rest in sheet.unused),
        "guessed": not job.arguments.get("format"),
        "english": result["english"] >= ENGLISH_ENOUGH,
        "english_percent": round(100 * result["english"]),
        "rows": list(enumerate(result["rows"])),
        "sha256": sorted(result["sha256"].items()),
    }


urlpatterns = [
    path("", upload_list, name="uploads"),
    path("<slug:key>/", upload_detail, name="upload"),
    path("<slug:key>/preview/<int:number>", upload_preview, name="upload_preview"),
]
