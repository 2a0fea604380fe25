"""What campaigns hold, as files."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import File, Operation, Rest, register
from annotation.datasets import answer_files
from annotation.datasets.exporting import ExportError
from annotation.operations.campaigns import MAY_RUN, ON_CAMPAIGN, ONE_CAMPAIGN

register(
    Operation(
        name="export_answers",
        title=_("Export the answers of a campaign"),
        request=answer_files.ExportAnswersRequest,
        result=File("application/x-ndjson"),
        permission=MAY_RUN,
        run=answer_files.export_answers,
        errors=(ExportError,),
        rest=Rest("GET", f"{ONE_CAMPAIGN}/answers.jsonl", "exports"),
        command=ON_CAMPAIGN,
    )
)
