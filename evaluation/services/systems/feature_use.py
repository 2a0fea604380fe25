"""Which systems were trained on a feature set, and removing a set that none uses."""

from typing import Any

from annotation import audit
from annotation.selectors.jobs import Job
from evaluation.models import System
from evaluation.services.features.store import FeatureSet, remove_set
from evaluation.services.systems.sources import SET_KINDS
from phrasebox.errors import PhraseboxError


def systems_of(stored: FeatureSet) -> list[str]:
    """Return the names of the systems that were trained on this set."""
    field = next(field for field, kind in SET_KINDS.items() if kind == stored.kind)
    rows = System.objects.filter(corpus__name=stored.corpus, **{f"settings__{field}": stored.label})
    return sorted(rows.values_list("name", flat=True))


def remove_unused(row: FeatureSet, *, actor: Any = None) -> None:
    """Remove the set; raises PhraseboxError if a system needs it to rank, or is being trained on it,
    UnknownName if somebody else has removed it, and Busy."""
    users = systems_of(row)
    if users:
        raise PhraseboxError(
            f"feature set {row.label!r} is used by {', '.join(users[:3])}; remove the systems first"
        )
    training = _trained_now(row)
    if training:
        raise PhraseboxError(
            f"feature set {row.label!r} is used by the training of {', '.join(training[:3])}; wait for its "
            "end, or cancel it"
        )
    remove_set(row)
    audit.record(actor=actor, act="remove_features", corpus=row.corpus, set=row.label, digest=row.digest)


def _trained_now(stored: FeatureSet) -> list[str]:
    """Return the names of the systems whose training jobs on this set run or wait; a name without version
    means the newest."""
    jobs = Job.objects.filter(kind="train_system", corpus__name=stored.corpus, state__in=Job.LIVE)
    arguments = jobs.values_list("arguments", flat=True)
    return sorted(
        str(arguments_of_job.get("name"))
        for arguments_of_job in arguments
        if any(arguments_of_job.get(field) in (stored.name, stored.label) for field in SET_KINDS)
    )
