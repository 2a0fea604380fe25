"""From a batch's campaign to judgments that can be frozen.

`collect` keeps all answers that count, of the batch, of those before it and of the judgments it
reused, as one set of judgments, so that its qrels know all that is known. Collected again, only
what changed makes a new set: NAME, then NAME-2; earlier ones stay, since qrels may be made of them.

Left out: withdrawn answers, reports, known items, and all answers of judges below the bar (the 70 %
rule; see `annotation.selectors.pair_judgments`). Such judges are named: discarding them has the
pages asked again (`topping_up`), which is how pairs come to their number of judges.
"""

from __future__ import annotations

from dataclasses import dataclass

from annotation.campaign_settings import settings_of
from annotation.selectors.pair_judgments import Judge, judges
from evaluation.formats.base import JudgedPair
from evaluation.models import Batch, JudgmentSet
from evaluation.selectors import names_of
from evaluation.services.judgments import JudgmentsReport, digest_of, store_judgments
from evaluation.services.phases import Tell, over, part, silent
from evaluation.services.stored_answers import Answers, BatchRefused, earlier, stored
from evaluation.services.writing import alone


@dataclass(frozen=True, slots=True)
class Collected:
    """The judgments collected. `new` pairs were not in the set before; `unused` judges do not count, and why.

    `short` of the wanted pairs have fewer answers than wanted, counting those alone that count.
    """

    batch: str
    judgments: str
    unchanged: bool
    pairs: int
    answers: int
    new: int
    unused: dict[str, str]
    short: int
    digest: str


def batch_named(name: str) -> Batch:
    """The batch of that name; raises BatchRefused listing what exists."""
    found = Batch.objects.select_related("campaign__corpus", "corpus", "judgments").filter(name=name).first()
    if found is None:
        known = ", ".join(Batch.objects.values_list("name", flat=True)) or "none"
        raise BatchRefused(f"unknown batch {name!r}; known: {known}")
    return found


def collect(name: str, *, tell: Tell = silent) -> Collected:
    """Keep what was answered so far as judgments; raises BatchRefused where that is nothing, and Busy.

    What `tell` raises stops it, and then nothing is kept.
    """
    batch = batch_named(name)
    with alone(f"batch.{name}", "batch", name):
        batch.refresh_from_db()
        tell("reading answers", 0.0)
        answers, who = answers_of(batch)
        pairs = list(answers.judged_pairs(names_of(batch.corpus.name)))
        if not pairs:
            raise BatchRefused(f"nobody who counts has judged a pair of batch {name!r} yet; collect it later")
        before = batch.judgments
        made = _kept(batch, pairs, part(tell, 0.4, 1.0))
        if before is None or made.judgments != before.name:
            row = JudgmentSet.objects.get(corpus=batch.corpus, name=made.judgments)
            Batch.objects.filter(pk=batch.pk).update(judgments=row)
    had = before.pair_count if before is not None else 0
    return Collected(
        batch=name,
        judgments=made.judgments,
        unchanged=made.unchanged,
        pairs=made.pairs,
        answers=made.answers,
        new=max(0, made.pairs - had),
        unused={judge: one.unused for judge, one in who[name].items() if one.unused and one.answers},
        short=short_of(batch, answers),
        digest=made.digest,
    )


def judges_of(batch: Batch) -> dict[str, Judge]:
    """Everybody who has a standing in the batch's campaign, by pseudonym."""
    return judges(batch.campaign, settings_of(batch.campaign.settings).trust)


def answers_of(batch: Batch) -> tuple[Answers, dict[str, dict[str, Judge]]]:
    """All answers that the batch's judgments hold, and the judges of each batch they are from."""
    return stored(
        corpus=batch.corpus.name,
        tasks=batch.campaign.tasks,
        reuse=batch.reused,
        batches=earlier(batch.corpus.name, batch.campaign.tasks, until=batch),
    )


def _kept(batch: Batch, pairs: list[JudgedPair], tell: Tell) -> JudgmentsReport:
    """The set that holds `pairs`: the batch's newest where it does, else the next."""
    corpus, source = batch.corpus.name, f"batch {batch.name}"
    tell("keeping judgments", 0.0)
    digest = digest_of(corpus=corpus, pairs=pairs, source=source)
    name = batch.judgments.name if batch.judgments is not None else batch.name
    sets = dict(JudgmentSet.objects.filter(corpus=batch.corpus, published=True).values_list("name", "digest"))
    number = 1
    while name in sets and sets[name] != digest:
        number += 1
        name = f"{batch.name}-{number}"
    told = over(pairs, total=len(pairs), tell=part(tell, 0.2, 1.0), phase="keeping judgments")
    return store_judgments(
        corpus=corpus, pairs=told, name=name, format=f"batch-{batch.campaign.tasks}", source=source
    )


def short_of(batch: Batch, answers: Answers) -> int:
    """How many of the pairs that a batch asks about have fewer answers than it wants."""
    enough = sum(
        len(given) >= batch.judges for pair, given in answers.of.items() if pair in answers.wanted[batch.name]
    )
    return int(batch.numbers["asked"]) - enough
