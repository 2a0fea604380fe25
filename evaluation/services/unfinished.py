"""What somebody who was killed left half written: it has no page, and goes before what it hangs on goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import CASCADE

from annotation.common.batching import delete_in_pages
from evaluation.models import CaptionSet, JudgmentSet, LocalizationSet, QrelsSnapshot, Run, System, TagSet
from evaluation.services.common import exclusive_work
from evaluation.services.features.parses import remove_parses
from evaluation.services.features.store import remove_unfinished_sets

#: A model, what it is called, and what the writers of a row hold meanwhile (`exclusive_work`).
_Kind = tuple[Any, str, Callable[[Any], str]]
#: What systems make.
_OF_SYSTEMS: tuple[_Kind, ...] = (
    (Run, "run", lambda row: f"run.{row.name}"),
    (CaptionSet, "caption set", lambda row: f"captions.{row.name}"),
    (LocalizationSet, "localization set", lambda row: f"localizations.{row.name}"),
    (TagSet, "tag set", lambda row: f"tags.{row.name}"),
)
#: Whatever is of a corpus.
_OF_CORPORA: tuple[_Kind, ...] = (
    *_OF_SYSTEMS,
    (JudgmentSet, "judgments", lambda row: f"judgments.{row.corpus.name}.{row.name}"),
    (QrelsSnapshot, "qrels", lambda row: f"qrels.{row.name}"),
)


def remove_unfinished_of_system(system: System) -> None:
    """Remove what a killed process left of what the system made; raises Busy while some of it is written."""
    for model, word, work in _OF_SYSTEMS:
        _remove(model, word, work, made_by=system)


def remove_unfinished_of_corpus(corpus: Any) -> None:
    """Remove what a killed process left of what is of the corpus, and the parses of its captions, before it
    is deleted; raises Busy while some of it is written."""
    for model, word, work in _OF_CORPORA:
        _remove(model, word, work, corpus=corpus)
    remove_unfinished_sets(corpus.name)
    remove_parses(corpus.name)


def _remove(model: Any, word: str, work: Callable[[Any], str], **of: Any) -> None:
    left = model._default_manager.filter(published=False, **of)
    for row in left:
        with exclusive_work(work(row), word, row.name):
            for still in left.filter(pk=row.pk):
                for relation in model._meta.related_objects:
                    if relation.on_delete is CASCADE:
                        own = relation.related_model._default_manager.filter(**{relation.field.name: still})
                        delete_in_pages(own)
                still.delete()
