"""Rows that a killed process left half written: they have no page, and are removed before the system or
corpus they belong to."""

from typing import Any

from django.db.models import CASCADE

from annotation.common.database import delete_in_pages
from evaluation.models import CaptionSet, JudgmentSet, LocalizationSet, QrelsSnapshot, Run, System, TagSet
from evaluation.services.features.parses import remove_parses
from evaluation.services.features.store import remove_unfinished_sets
from evaluation.services.stored import row_lock

#: Rows that systems make, and those that belong to a corpus.
_OF_SYSTEMS: tuple[Any, ...] = (Run, CaptionSet, LocalizationSet, TagSet)
_OF_CORPORA: tuple[Any, ...] = (*_OF_SYSTEMS, JudgmentSet, QrelsSnapshot)


def remove_unfinished_of_system(system: System) -> None:
    """Remove the unfinished rows of a system; raises Busy while some of them are being written."""
    for model in _OF_SYSTEMS:
        _remove(model, made_by=system)


def remove_unfinished_of_corpus(corpus: Any) -> None:
    """Remove the unfinished rows and feature sets of a corpus, and the parses of its captions, before it is
    deleted; raises Busy while some of them are being written."""
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
