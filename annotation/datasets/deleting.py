"""Deleting an unused corpus with its pictures. Its lines in the audit log stay, with its name."""

from collections.abc import Callable

from django.db.models import PROTECT, ProtectedError, RestrictedError
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.by_name import declared_by_apps, function_named
from annotation.common.locks import Busy, locked_folder
from annotation.datasets.intake import being_imported, sweep_corpus
from annotation.models import Account, Corpus, Job
from phrasebox.errors import PhraseboxError

#: Attributes of AppConfigs: dotted names of functions. A use of a corpus, besides rows, is called with its
#: name before it is deleted, and returns what depends on it, or "". A cleaner is called with its row: it
#: removes incomplete results of killed processes, and raises Busy while one is being written; rows that are
#: not `published` do not prevent deletion.
CORPUS_USES, CORPUS_CLEANERS = "corpus_uses", "corpus_cleaners"


def why_corpus_kept(corpus: Corpus) -> str:
    """Return why the corpus cannot be deleted, in one sentence; "" if nothing uses it."""
    using = []
    for relation in Corpus._meta.related_objects:
        if relation.on_delete is PROTECT:
            model = relation.related_model
            rows = model._default_manager.filter(**{relation.field.name: corpus.pk})
            if any(field.name == "published" for field in model._meta.fields):
                rows = rows.filter(published=True)  # incomplete rows are deleted with the corpus
            if rows.exists():
                using.append(str(model._meta.verbose_name_plural))
    using += filter(None, (function_named(use)(corpus.name) for use in declared_by_apps(CORPUS_USES)))
    if using:
        return _("these depend on it: %(what)s; delete them first") % {"what": ", ".join(sorted(using))}
    if Job.objects.filter(corpus=corpus, state__in=Job.LIVE).exists():
        return _("one of its jobs is queued or running: cancel that first")
    return ""


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
        sweep_corpus(row, alive=alive)
    except (ProtectedError, RestrictedError) as error:
        raise PhraseboxError(
            _("corpus “%(name)s” cannot be deleted: somebody has just begun to use it") % {"name": row.name}
        ) from error
