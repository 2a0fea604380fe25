"""The page where systems made elsewhere are brought: embeddings, scores, or runs, as files.

Files are kept aside while they are checked, under the names that they were sent by, so that what is wrong
is told of them; then they go, whatever came of it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.text import get_valid_filename
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.exclusive import Busy
from annotation.formats.base import FormatError
from annotation.registry import UnknownName
from annotation.web.access import RUNNING, account_of, for_roles
from evaluation.models import Run, System
from evaluation.services import registry
from evaluation.services.bringing import EMBEDDINGS, SCORES
from evaluation.services.bringing import bring as keep
from evaluation.services.origins import ORIGINS
from evaluation.services.runs import DIRECTIONS, import_run
from evaluation.services.writing import ImportRefused, check_name
from evaluation.web import offered
from evaluation.web.frame import asked, framed
from evaluation.web.splits import NotOffered

#: Bytes that are taken by page, as the proxy has it; what is larger is brought by command.
LARGEST = 64 * 2**20
#: Bytes that an archive of arrays may unpack to.
UNPACKED = 16 * LARGEST
#: Bytes of a file's name, and of them its ending; disks take 255.
LONGEST_NAME, LONGEST_END = 200, 40
#: Seconds after which nobody looks at files any more.
LONGEST = 24 * 3600

REFUSALS = (FormatError, ImportRefused, NotOffered, UnknownName, Busy, ValueError)


@require_http_methods(["GET", "HEAD", "POST"])
@for_roles(*RUNNING, corpora=True)
def bring(request: HttpRequest) -> HttpResponse:
    """Take files of a system in: all of them, or none."""
    wrong, status = "", 200
    act = asked(request.POST, "act")
    if request.method == "POST":
        try:
            if act not in TAKEN:
                raise NotOffered(_("Nothing was chosen: use one of the buttons."))
            offered.corpus(request, asked(request.POST, "corpus"))
            with _aside(request) as folder:
                system = TAKEN[act](request, folder)
            messages.success(request, _("The system “%(name)s” is here.") % {"name": system})
            return redirect("evaluation:system", system)
        except REFUSALS as error:
            wrong, status = str(error), 409
    return render(
        request,
        "evaluation/bring.html",
        framed(
            "systems",
            deeper=True,
            corpora=offered.corpora(request),
            origins=[ORIGINS.get(key) for key in (EMBEDDINGS, SCORES, "runs")],
            given=request.POST,
            act=act,
            largest=filesizeformat(LARGEST),
            wrong=wrong,
        ),
        status=status,
    )


def _embeddings(request: HttpRequest, folder: Path) -> str:
    images = _kept(request, folder, "images")
    if images is None:
        raise NotOffered(_("No file was sent: choose one."))
    captions = _kept(request, folder, "captions")
    kept = keep(
        name=asked(request.POST, "name"),
        corpus=asked(request.POST, "corpus"),
        path=images,
        format=EMBEDDINGS,
        captions=captions,
        cosine=request.POST.get("products") != "1",
        wanted=registry.Wanted(account=account_of(request).pk),
    )
    for remark in kept.remarks:
        messages.warning(request, remark)
    return kept.system


def _scores(request: HttpRequest, folder: Path) -> str:
    scores = _kept(request, folder, "scores")
    if scores is None:
        raise NotOffered(_("No file was sent: choose one."))
    return keep(
        name=asked(request.POST, "name"),
        corpus=asked(request.POST, "corpus"),
        path=scores,
        format=SCORES,
        wanted=registry.Wanted(account=account_of(request).pk),
    ).system


def _runs(request: HttpRequest, folder: Path) -> str:
    """Both directions, or one; where the second is wrong, the first goes too."""
    name, corpus = asked(request.POST, "name"), asked(request.POST, "corpus")
    check_name(name, "system")
    check_name(f"{name}-annotation", "run")
    files = {direction: _kept(request, folder, direction) for direction in DIRECTIONS}
    if not any(files.values()):
        raise NotOffered(_("No file was sent: choose one."))
    registry.check_free(name, corpus, "runs")
    known = System.objects.filter(name=name).exists()
    new: list[str] = []
    try:
        for direction, file in files.items():
            if file is None:
                continue
            run = f"{name}-{direction}"
            stood = Run.objects.filter(name=run, published=True).exists()
            import_run(
                name=run,
                corpus=corpus,
                path=file,
                direction=direction,
                system=name,
                source=file.name,
                wanted=registry.Wanted(account=account_of(request).pk),
            )
            if not stood:
                new.append(run)
    except BaseException:
        for run in new:
            registry.remove_run(name=run)
        if new and not known:
            registry.remove_system(name=name)
        raise
    return name


#: What a button brings.
TAKEN: dict[str, Callable[[HttpRequest, Path], str]] = {
    EMBEDDINGS: _embeddings,
    SCORES: _scores,
    "runs": _runs,
}


@contextmanager
def _aside(request: HttpRequest) -> Iterator[Path]:
    """A folder for what was sent; what is wrong with a file is told without the folder's name."""
    sent: list[Any] = [file for name in request.FILES for file in request.FILES.getlist(name)]
    size = sum(file.size or 0 for file in sent)
    if size > LARGEST:
        raise NotOffered(
            _("The files have %(size)s; a page takes %(largest)s. Use the command add_system or import_run.")
            % {"size": filesizeformat(size), "largest": filesizeformat(LARGEST)}
        )
    parent = Path(settings.DATA_DIR) / "uploads"
    parent.mkdir(parents=True, exist_ok=True)
    _forget_old(parent)
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    except REFUSALS as error:
        raise ImportRefused(str(error).replace(f"{folder}/", "")) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _forget_old(parent: Path) -> None:
    """Remove what a process left that was killed while it looked at files."""
    for left in parent.iterdir():
        with suppress(FileNotFoundError):  # whoever sent it may take it away at any time
            if left.stat().st_mtime < time.time() - LONGEST:
                shutil.rmtree(left, ignore_errors=True)


def _kept(request: HttpRequest, folder: Path, name: str) -> Path | None:
    """The file that was sent as `name`, in a folder of its own, with the ids that were sent beside it."""
    sent = request.FILES.get(name)
    if not isinstance(sent, UploadedFile):
        return None
    own = folder / name
    own.mkdir()
    written = [_write(file, own) for file in (sent, *request.FILES.getlist("ids"))]
    return written[0]


def _write(file: Any, folder: Path) -> Path:
    path = folder / _short(get_valid_filename(file.name))
    with path.open("wb") as out:
        for chunk in file.chunks():
            out.write(chunk)
    size = _unpacked(path)
    if size > UNPACKED:
        most = filesizeformat(UNPACKED)
        raise FormatError(f"unpacks to {filesizeformat(size)}", file=path, expected=f"at most {most}")
    return path


def _short(name: str) -> str:
    """A file's name as a disk takes it: what it ends in stays, for that says what it holds."""
    if len(name.encode()) <= LONGEST_NAME:
        return name
    ends = "".join(PurePosixPath(name).suffixes[-2:])
    tail = ends if len(ends.encode()) <= LONGEST_END else ""
    # Ids lie beside their file by its name, so both are cut at the same letter.
    stem = name.removesuffix(tail).encode()[: LONGEST_NAME - LONGEST_END]
    return stem.decode(errors="ignore") + tail


def _unpacked(path: Path) -> int:
    """Bytes that an archive unpacks to at most; 0 for what is none, or cannot be read as one."""
    try:
        with zipfile.ZipFile(path) as archive:
            # No more is unpacked of a member than it says.
            return sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return 0
