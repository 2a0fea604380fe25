"""All answers of a campaign in a file, one JSON line each."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import Help, NewFile, OperationContext
from annotation.datasets.exporting import ExportError, simulated_refusal
from annotation.models import Judgment
from annotation.selectors.answers import answers
from annotation.selectors.corpora import CampaignRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportAnswersRequest(CampaignRequest):
    """A line of JSON for each: worker (a pseudonym), question, answer, version of the instructions, and
    seconds."""

    controls: Annotated[bool, Help(_("Control items"), _("Answers to control items too"))] = False
    simulated: Annotated[
        bool, Help(_("Simulated"), _("The answers may be those of a simulation, which no person gave"))
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswers:
    """The number of written answers by kind of question."""

    answers: Mapping[str, int]


def export_answers(request: ExportAnswersRequest, context: OperationContext) -> NewFile:
    """Return the file of a campaign's answers. Raises ExportError for simulated ones, unless allowed."""
    row = request.row()
    if row.simulated and not request.simulated:
        raise ExportError(simulated_refusal(row.name))
    passed_on = context.progress_of("answers", Judgment.objects.filter(campaign=row).count())

    def write(path: Path) -> WrittenAnswers:
        counts: Counter[str] = Counter()
        with path.open("w", encoding="utf-8") as file:
            for record in passed_on(answers(row, known=request.controls)):
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                counts[record["kind"]] += 1
        return WrittenAnswers(answers=counts)

    return NewFile(f"{row.name}-answers.jsonl", write)
