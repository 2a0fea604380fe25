"""What depends on a corpus: while something does, it is not deleted; some of it fixes the corpus's images."""

from collections.abc import Iterator

from django.db.models import PROTECT, Model, QuerySet
from django.utils.translation import gettext as _

from annotation.common.by_name import declared_by_apps, function_named
from annotation.models import Campaign, Corpus, Job

#: The attribute of AppConfigs: dotted names of functions that are called with a corpus's name, and return
#: another use of it than rows in one sentence, or "".
CORPUS_USES = "corpus_uses"


def why_corpus_kept(corpus: Corpus) -> str:
    """Return why the corpus cannot be deleted, in one sentence; "" if nothing uses it."""
    using = []
    for model, rows in _dependent(corpus):
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


def why_images_fixed(corpus: Corpus) -> str:
    """Return why no images can be added to the corpus, in one sentence; "" if they can.

    Systems, runs, judgments and other results, also those that are being written, name splits, folds or all
    images of a corpus: with further images, these names would mean something else.
    """
    fixing = sorted(
        str(model._meta.verbose_name_plural)
        for model, rows in _dependent(corpus)
        if model is not Campaign and rows.exists()
    )
    if not fixing:
        return ""
    return _(
        "Corpus “%(name)s” takes no further images, since these were made with those that it has: %(what)s; "
        "import the pictures as a corpus of their own"
    ) % {"name": corpus.name, "what": ", ".join(fixing)}


def _dependent(corpus: Corpus) -> Iterator[tuple[type[Model], QuerySet[Model]]]:
    """Yield the models whose rows protect a corpus, each with its rows of this one."""
    for relation in Corpus._meta.related_objects:
        if relation.on_delete is PROTECT:
            model = relation.related_model
            yield model, model._default_manager.filter(**{relation.field.name: corpus.pk})
