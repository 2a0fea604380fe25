"""An upload looked at: what it holds, and all that is wrong with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common.locks import Busy
from annotation.common.registry import UnknownName
from annotation.datasets.source_problems import IntakeError
from annotation.datasets.uploaded_source import check_upload
from annotation.datasets.uploads import NoSuchUpload, stored_upload
from annotation.formats import FormatError
from annotation.jobs import JobProgress, job_kind

#: Problems and files in the job's result; the upload's own lists have all.
PROBLEMS_SHOWN, FILES_SHOWN = 200, 50


@job_kind(
    "check_upload",
    title=gettext_lazy("Check of an upload"),
    refusals=(NoSuchUpload, FormatError, IntakeError, UnknownName, Busy, OSError),
)
def check_upload_job(progress: JobProgress, *, upload: str, name: str, format: str = "") -> dict[str, Any]:
    """Look at an upload, in a format or the one that is guessed; a killed check starts again.

    The result has what `CheckedUpload` has, with the SHA-256 of the first files and how many files there are,
    the first problems, how many there are of each sort, and how many of them end an import that leaves
    nothing out.
    """
    found = check_upload(
        stored_upload(upload),
        format=format,
        tell=lambda phase, share: progress.advance(share, phase=phase),
    )
    return {
        **asdict(replace(found, sha256=dict(sorted(found.sha256.items())[:FILES_SHOWN]))),
        "sha256_count": len(found.sha256),
        "problems": [each.as_dict() for each in found.problems[:PROBLEMS_SHOWN]],
        "problem_count": len(found.problems),
        "problem_sorts": dict(Counter(each.sort for each in found.problems)),
        "blocking": sum(each.blocks for each in found.problems),
    }
