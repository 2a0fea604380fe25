"""Deleting an unused corpus with its pictures. Its lines in the audit log stay, with its name."""

from collections.abc import Callable

from django.db.models import ProtectedError, RestrictedError
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.by_name import declared_by_apps, function_named
from annotation.common.locks import Busy, locked_folder
from annotation.datasets.corpus_uses import why_corpus_kept
from annotation.datasets.deliveries import hidden_name
from annotation.datasets.intake import being_imported, sweep_corpus
from annotation.models import Account, Corpus
from phrasebox.errors import PhraseboxError

#: The attribute of AppConfigs: dotted names of functions that are called with a corpus before it is deleted.
#: Each removes incomplete results of killed processes, and raises Busy while one is being written; rows that
#: are not `published` do not prevent deletion.
CORPUS_CLEANERS = "corpus_cleaners"


def delete_corpus(*, corpus: Corpus, actor: Account | None = None) -> None:
    """Delete an unused corpus, with its layers, and pictures that no other corpus shows.

    It is hidden at once; a process that is killed meanwhile leaves the same as a killed import. Raises
    PhraseboxError if something depends on it, Busy while it is being imported.
    """
    with locked_folder(f"import.{corpus.name}", busy=being_imported(corpus.name)):
        remove_half_written(corpus)
        with database.writing():
            row = hide_corpus(corpus=corpus, actor=actor)
        _sweep(row)


def hide_corpus(*, corpus: Corpus, actor: Account | None = None) -> Corpus:
    """Hide an unused corpus, in the caller's transaction; return its row.

    `remove_hidden_corpus` removes its data. Raises PhraseboxError if something depends on it.
    """
    row = Corpus.objects.select_for_update().filter(pk=corpus.pk, published=True).first()
    if row is None:
        raise PhraseboxError(_("corpus “%(name)s” is deleted already") % {"name": corpus.name})
    if why := why_corpus_kept(row):
        raise PhraseboxError(
            _("corpus “%(name)s” cannot be deleted: %(why)s") % {"name": row.name, "why": why}
        )
    Corpus.objects.filter(pk=row.pk).update(published=False)
    record(
        actor=actor,
        act="delete_corpus",
        corpus=row.name,
        images=row.image_count,
        captions=row.caption_count,
        digest=row.digest,
    )
    return row


def remove_half_written(corpus: Corpus) -> None:
    """Remove incomplete results of killed processes for an otherwise unused corpus, before it is hidden.
    Raises PhraseboxError while one is being written."""
    if why_corpus_kept(corpus):
        return
    try:
        for cleaner in declared_by_apps(CORPUS_CLEANERS):
            function_named(cleaner)(corpus)
    except Busy as busy:
        about = {"name": corpus.name, "why": str(busy)}
        raise PhraseboxError(_("corpus “%(name)s” cannot be deleted: %(why)s") % about) from busy


def remove_hidden_corpus(*, name: str, number: int, alive: Callable[[], object] = lambda: None) -> None:
    """Remove the data of a hidden corpus, by the id of its row; do nothing if that is done, or if a new
    import has its name.

    `alive` is called regularly. Raises PhraseboxError if somebody began to use it before it was hidden.
    """
    with locked_folder(f"import.{name}", busy=being_imported(name)):
        row = Corpus.objects.filter(pk=number, published=False).first()
        if row is not None:
            _sweep(row, alive)


def _sweep(row: Corpus, alive: Callable[[], object] = lambda: None) -> None:
    try:
        for corpus in (*Corpus.objects.filter(name=hidden_name(row)), row):
            sweep_corpus(corpus, alive=alive)
    except (ProtectedError, RestrictedError) as error:
        raise PhraseboxError(
            _("corpus “%(name)s” cannot be deleted: somebody has just begun to use it") % {"name": row.name}
        ) from error
