"""What somebody who was killed left half written: it has no page, and goes before what it hangs on goes."""

from typing import Any

from django.db.models import CASCADE

from annotation.common.database import delete_in_pages
from evaluation.models import CaptionSet, JudgmentSet, LocalizationSet, QrelsSnapshot, Run, System, TagSet
from evaluation.services.features.parses import remove_parses
from evaluation.services.features.store import remove_unfinished_sets
from evaluation.services.stored import row_lock

#: What systems make, and whatever is of a corpus.
_OF_SYSTEMS: tuple[Any, ...] = (Run, CaptionSet, LocalizationSet, TagSet)
_OF_CORPORA: tuple[Any, ...] = (*_OF_SYSTEMS, JudgmentSet, QrelsSnapshot)


def remove_unfinished_of_system(system: System) -> None:
    """Remove what a killed process left of what the system made; raises Busy while some of it is written."""
    for model in _OF_SYSTEMS:
        _remove(model, made_by=system)


def remove_unfinished_of_corpus(corpus: Any) -> None:
    """Remove what a killed process left of what is of the corpus, and the parses of its captions, before it
    is deleted; raises Busy while some of it is written."""
    for model in _OF_CORPORA:
        _remove(model, corpus=corpus)
    remove_unfinished_sets(corpus.name)
    remove_parses(corpus.name)


def _remove(model: Any, **of: Any) -> None:
    left = model._default_manager.filter(published=False, **of)
    for row in left:
        with row_lock(row):
            for still in left.filter(pk=row.pk):
                for relation in model._meta.related_objects:
                    if relation.on_delete is CASCADE:
                        related_rows = relation.related_model._default_manager.filter(
                            **{relation.field.name: still}
                        )
                        delete_in_pages(related_rows)
                still.delete()
