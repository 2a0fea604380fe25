"""A corpus that nothing uses, deleted with its pictures. Its lines in the audit stay, with its name."""

from collections.abc import Callable

from django.db.models import PROTECT, ProtectedError, RestrictedError
from django.utils.translation import gettext as _

from annotation.audit import record
from annotation.common import database
from annotation.common.locks import Busy, locked_folder
from annotation.datasets.intake import being_imported, sweep_corpus
from annotation.models import Account, Corpus, Job
from phrasebox.errors import PhraseboxError

#: What others keep of a corpus beside rows: called with its name, each says what there is, "" for nothing.
_USES: list[Callable[[str], str]] = []


def add_corpus_use(use: Callable[[str], str]) -> None:
    """Have `use` asked before a corpus is deleted: called with its name, it says what depends on it."""
    _USES.append(use)


#: What takes away what killed processes left half written of a corpus; raises Busy while some is written.
_CLEANERS: list[Callable[[Corpus], object]] = []


def add_corpus_cleaner(cleaner: Callable[[Corpus], object]) -> None:
    """Have `cleaner` called before a corpus is deleted: it takes away what was left half written of it, and
    raises Busy while some of that is being written. Rows that are not `published` keep no corpus."""
    _CLEANERS.append(cleaner)


def why_corpus_kept(corpus: Corpus) -> str:
    """Why the corpus cannot be deleted, in one sentence; "" where nothing uses it."""
    using = []
    for relation in Corpus._meta.related_objects:
        if relation.on_delete is PROTECT:
            model = relation.related_model
            rows = model._default_manager.filter(**{relation.field.name: corpus.pk})
            if any(field.name == "published" for field in model._meta.fields):
                rows = rows.filter(published=True)  # what is half written goes with the corpus
            if rows.exists():
                using.append(str(model._meta.verbose_name_plural))
    using += filter(None, (use(corpus.name) for use in _USES))
    if using:
        return _("these depend on it: %(what)s; delete them first") % {"what": ", ".join(sorted(using))}
    if Job.objects.filter(corpus=corpus, state__in=Job.LIVE).exists():
        return _("one of its jobs is queued or running: cancel that first")
    return ""


def delete_corpus(*, corpus: Corpus, actor: Account | None = None) -> None:
    """Delete a corpus that nothing uses, with its layers, and pictures that no other corpus shows.

    It is out of sight at once; a process that is killed meanwhile leaves what a killed import leaves. Raises
    PhraseboxError where something depends on it, Busy where it is being imported.
    """
    with locked_folder(f"import.{corpus.name}", busy=being_imported(corpus.name)):
        remove_half_written(corpus)
        with database.writing():
            row = hide_corpus(corpus=corpus, actor=actor)
        _sweep(row)


def hide_corpus(*, corpus: Corpus, actor: Account | None = None) -> Corpus:
    """Take a corpus that nothing uses out of everybody's sight, in the caller's transaction; its row.

    `remove_hidden_corpus` takes away what it had. Raises PhraseboxError where something depends on it.
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
    """Take away what killed processes left half written of a corpus that nothing else uses, before it is
    hidden. Raises PhraseboxError where some of it is being written."""
    if why_corpus_kept(corpus):
        return
    try:
        for clean in _CLEANERS:
            clean(corpus)
    except Busy as busy:
        about = {"name": corpus.name, "why": str(busy)}
        raise PhraseboxError(_("corpus “%(name)s” cannot be deleted: %(why)s") % about) from busy


def remove_hidden_corpus(*, name: str, number: int, alive: Callable[[], object] = lambda: None) -> None:
    """Take away what a hidden corpus (the id of its row) had; nothing is left to do where that is done, or
    where an import under its name has taken its place. `alive` is called every now and then.

    Raises PhraseboxError where somebody began to use it before it was hidden.
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
