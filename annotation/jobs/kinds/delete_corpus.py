"""Deleting a corpus: it becomes invisible at once, and a job removes its data, however large."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.common import database
from annotation.common.operations import OperationContext
from annotation.datasets.contents.corpus_summaries import CorpusRequest
from annotation.datasets.deleting import delete_corpus, hide_corpus, remove_half_written, remove_hidden_corpus
from annotation.jobs import JobProgress, enqueue, job_kind
from annotation.models import Account, Corpus, Job


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCorpusRequest(CorpusRequest):
    """With its layers, and pictures that no other corpus shows. It is hidden at once. Rejected while anything
    depends on it: a campaign, system, run, qrels, batch, report or feature set. Its entries in the audit log
    stay."""


def delete_named_corpus(request: DeleteCorpusRequest, context: OperationContext) -> None:
    """Delete a corpus: a command does it at once, otherwise a job removes its data."""
    row = request.row()
    if context.actor is None:
        delete_corpus(corpus=row)
    else:
        begin_deleting_corpus(corpus=row, actor=context.actor)


def begin_deleting_corpus(*, corpus: Corpus, actor: Account | None = None) -> Job:
    """Hide a corpus that nothing uses, and queue the job that removes it. Raises CorpusInUse."""
    remove_half_written(corpus)
    with database.writing():
        row = hide_corpus(corpus=corpus, actor=actor)
        # Not a job of the corpus: it would be deleted with it.
        return enqueue(kind="delete_corpus", arguments={"corpus": row.name, "number": row.pk}, actor=actor)


@job_kind("delete_corpus", title=gettext_lazy("Deleting a corpus"))
def delete_corpus_job(progress: JobProgress, *, corpus: str, number: int) -> dict[str, Any]:
    """Remove a hidden corpus (by name and row id). A second run removes what the first left."""
    remove_hidden_corpus(name=corpus, number=number, alive=lambda: progress.advance(phase="removing images"))
    return {"corpus": corpus}
