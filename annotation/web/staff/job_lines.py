"""Jobs as lines of a page: title, progress, result.

A page includes `annotation/staff/_jobs.html` with `jobs`, which are `JobView`s.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from annotation import jobs
from annotation.common.operations import read_result, sheet_text
from annotation.datasets import archives
from annotation.jobs.kinds.export_dataset import EXPORTS
from annotation.jobs.status import JOB_STATES, job_title
from annotation.models import Job
from annotation.selectors.export_exclusions import missing_from_export
from phrasebox.balance import BalanceSheet

#: Arguments that distinguish a job from others of its kind.
_TELLING = ("name", "system", "batch", "format", "layer", "kind", "split", "model_annotator")


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as a line. `download` and `size` are of its file, `lacks` is what that does not contain, `gone`
    that it was deleted, `sheet` is the balance sheet of an import, and `leads` is the page of its result."""

    job: Job
    title: str
    about: str
    state: str
    left: str
    download: str = ""
    size: str = ""
    lacks: tuple[str, ...] = ()
    gone: bool = False
    sheet: tuple[str, ...] = ()
    leads: str = ""

    @property
    def percent(self) -> int:
        """Progress of the job, in whole per cent."""
        return int(100 * self.job.share)

    @property
    def live(self) -> bool:
        """Whether the job waits or runs."""
        return self.job.state in (Job.QUEUED, Job.RUNNING)

    @property
    def ended_badly(self) -> bool:
        """Whether the job failed or was cancelled."""
        return self.job.state in (Job.FAILED, Job.CANCELLED)


def job_line(job: Job, *, leads: str = "") -> JobView:
    """Return `job` as a line, with the page of its result."""
    left = jobs.remaining(job)
    return JobView(
        job=job,
        title=job_title(job.kind),
        about=_about(job),
        state=str(JOB_STATES.get(job.state, job.state)),
        left=timesince(timezone.now() - timedelta(seconds=left)) if left is not None else "",
        leads=leads,
        sheet=_sheet(job),
        **_download(job),
    )


def _sheet(job: Job) -> tuple[str, ...]:
    """Return what an import found, took and left."""
    if job.state != Job.DONE or not job.result.get("sheet"):
        return ()
    return tuple(sheet_text(read_result(BalanceSheet, job.result["sheet"])))


def _download(job: Job) -> dict[str, Any]:
    """Return the file of an export, and what it lacks."""
    if job.kind not in EXPORTS or job.state != Job.DONE:
        return {}
    try:
        archives.file_of(job.result["path"])
    except archives.DownloadExpired:
        return {"gone": True}
    return {
        "download": f"{reverse('operation_file', args=['download_export'])}?job={job.pk}",
        "size": filesizeformat(job.result["size"]),
        "lacks": tuple(missing_from_export(job.result["excluded"])),
    }


def _about(job: Job) -> str:
    arguments: dict[str, Any] = job.arguments
    named = ", ".join(str(arguments[name]) for name in _TELLING if arguments.get(name))
    return named or str(arguments.get("corpus", ""))
