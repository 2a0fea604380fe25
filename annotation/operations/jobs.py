"""Jobs: listed, cancelled, resumed."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Operation, Rest, register
from annotation.common.registry import UnknownName
from annotation.common.roles import ADMIN, RESEARCHER
from annotation.jobs import JobError, SweptJobs, status

_TAG, _ONE = "jobs", "jobs/<int:job>"
_ITS_RESEARCHERS, _JOB = Has((RESEARCHER,), on="job"), CommandLine(positional=("job",))

register(
    Operation(
        name="list_jobs",
        title=_("List jobs"),
        request=status.JobsRequest,
        result=status.JobStatus,
        permission=Has((RESEARCHER,)),
        run=status.list_jobs,
        listed=True,
        rest=Rest("GET", "jobs", _TAG, route="jobs"),
    )
)
register(
    Operation(
        name="show_job",
        title=_("Show a job"),
        request=status.JobRequest,
        result=status.JobStatus,
        permission=_ITS_RESEARCHERS,
        run=status.show_job,
        rest=Rest("GET", _ONE, _TAG, route="job"),
        command=_JOB,
    )
)
register(
    Operation(
        name="cancel_job",
        title=_("Cancel a job"),
        request=status.CancelJobRequest,
        result=status.JobStatus,
        permission=_ITS_RESEARCHERS,
        run=status.cancel,
        errors=(JobError,),
        rest=Rest("POST", f"{_ONE}/cancel", _TAG),
        command=_JOB,
        page=FormPage(done=_("Job cancelled. A running job stops at its next step.")),
    )
)
register(
    Operation(
        name="resume_job",
        title=_("Resume a job"),
        request=status.ResumeJobRequest,
        result=status.JobStatus,
        permission=_ITS_RESEARCHERS,
        run=status.resume,
        errors=(JobError, UnknownName),
        rest=Rest("POST", f"{_ONE}/resume", _TAG),
        command=_JOB,
        page=FormPage(done=_("Job resumed from where it stopped.")),
    )
)
register(
    Operation(
        name="sweep_jobs",
        title=_("Look for lost jobs"),
        request=status.SweepJobsRequest,
        result=SweptJobs,
        permission=Has((ADMIN,), server=True),
        run=status.sweep_lost_jobs,
    )
)
