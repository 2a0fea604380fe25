"""Where a batch's answers come from: the batches whose answers it takes, and who counts by name.

It imports nothing that is slow to import: what is done every minute needs it (`scheduler`).
"""

from evaluation.models import Batch


def counted_by_name(batch: Batch) -> list[str]:
    """The judges of a batch whose answers from before they were reinstated its newest judgments hold."""
    return [] if batch.judgments is None else list(batch.judgments.counted.get(batch.name, []))


def earlier(corpus: str, tasks: str, *, simulated: bool, until: Batch | None = None) -> list[Batch]:
    """The batches of a corpus that ask the same, oldest first; `until` is the last of them.

    Answers of simulated workers are never mixed with people's: their batches are among these only for one
    that is `simulated` itself.
    """
    batches = Batch.objects.filter(corpus__name=corpus, campaign__tasks=tasks).select_related(
        "campaign__corpus", "judgments"
    )
    if not simulated:
        batches = batches.filter(campaign__simulated=False)
    return list((batches.filter(pk__lte=until.pk) if until is not None else batches).order_by("pk"))
