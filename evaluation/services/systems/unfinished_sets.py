"""Sets of predictions that somebody who was killed left half written: they have no page, and go once their
system is to go."""

from __future__ import annotations

from django.db.models import Model

from evaluation.models import CaptionSet, LocalizationSet, System, TagSet
from evaluation.services.common import exclusive_work

#: Each kind of sets, with what its writers hold while they write one (`exclusive_work`), and its name.
_KINDS: tuple[tuple[type[Model], str, str], ...] = (
    (CaptionSet, "captions", "caption set"),
    (LocalizationSet, "localizations", "localization set"),
    (TagSet, "tags", "tag set"),
)


def remove_unfinished_sets(system: System) -> None:
    """Remove what a killed process left of sets that the system made; raises Busy while one is written."""
    for model, work, word in _KINDS:
        left = model._default_manager.filter(made_by=system, published=False)
        for name in left.values_list("name", flat=True):
            with exclusive_work(f"{work}.{name}", word, name):
                left.filter(name=name).delete()
