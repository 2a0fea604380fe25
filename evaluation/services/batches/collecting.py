"""Collecting a batch's answers from its campaign, as judgments that can be frozen.

`collect` stores all answers that count (of the batch, of earlier batches and of the judgments it reused) as
one set of judgments, so that its qrels use everything that is known. Collecting again makes a new set only if
something changed: NAME, then NAME-2. Earlier sets stay, since qrels may be based on them.

Excluded: withdrawn answers, reports, control items, and all answers of judges below the bar (the 70 % rule;
see `annotation.selectors.pair_judgments`). Such judges are listed: `reassignment` withdraws their answers and
puts their pages back into the queue, so that pairs reach their number of judges.

Also excluded: the answers that judges gave before the rules suspended them, where they were reinstated later.
These judges are listed with the number of such answers, which count only for judges who are named explicitly.
The set stores whose answers count; collecting again without naming anybody uses the same judges, so that
nothing changes by itself.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import F
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from annotation.common.operations import Help, Named, OperationContext
from annotation.protocol.campaign_settings import settings_of
from annotation.selectors.corpora import row_named
from annotation.selectors.pair_judgments import Judge, judges
from evaluation.models import Batch, JudgmentSet, PairAnswers
from evaluation.pair_tasks import pair_tasks
from evaluation.selectors import BATCH_FORMAT, judgments_source, names_of, selected_pairs_of
from evaluation.services.batches.stamps import counted_by_name, earlier
from evaluation.services.batches.stored_answers import Answers, BatchError, answers_of_batches, judges_named
from evaluation.services.common import work_lock
from evaluation.services.judgments.importing import (
    JudgmentsReport,
    JudgmentsTarget,
    digest_of_judgments,
    store_judgments,
)
from evaluation.services.phases import ProgressCallback, part_of_progress, report_steps, silent
from evaluation.services.stored_kinds import BATCHES
from phrasebox.relevance.grades import JudgedPair

#: What kind of judgments a batch's answers become, by the task of its campaign.


@dataclass(frozen=True, slots=True)
class Collected:
    """The collected judgments. `new` pairs were not in the set before; `unused` maps judges who do not count
    to the reason.

    `before` maps reinstated judges to the number of their earlier answers that stay excluded, `counted` the
    explicitly named ones to the number that counts. `short` is the number of requested pairs with fewer
    counting answers than requested.
    """

    batch: str
    judgments: str
    unchanged: bool
    pairs: int
    answers: int
    new: int
    unused: dict[str, str]
    before: dict[str, int]
    counted: dict[str, int]
    short: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectRequest:
    """The answers of a batch, with those of batches before it and of the files it reused, become judgments;
    the same answers are collected once."""

    batch: Annotated[str, Named(BATCHES), Help(_("Batch"))]
    count: Annotated[
        tuple[str, ...],
        Field(max_length=1000),
        Help(_("Judges who count"), _("Their answers from before they were reinstated count from now on")),
    ] = ()
    leave_out: Annotated[
        tuple[str, ...],
        Field(max_length=1000),
        Help(_("Judges who do not count"), _("These answers of theirs count no longer")),
    ] = ()

    def counted(self) -> list[str] | None:
        """The judges whose answers from before their reinstatement count; None: as before. Raises
        BatchError."""
        if not self.count and not self.leave_out:
            return None
        batch = batch_named(self.batch)
        _check_reinstated(batch, (*self.count, *self.leave_out))
        now = _reinstated(batch) & {*counted_by_name(batch)}
        return sorted((now | {*self.count}) - {*self.leave_out})


def collect_judgments(request: CollectRequest, context: OperationContext) -> Collected:
    """Collect a batch as an operation; see `collect`."""
    return collect(
        request.batch, count=request.counted(), report_progress=context.report_progress, actor=context.actor
    )


def batch_named(name: str) -> Batch:
    """Return the batch of that name; raises UnknownName listing what exists."""
    return row_named(Batch.objects.select_related("campaign__corpus", "corpus", "judgments"), name)


def collect(
    name: str,
    *,
    count: Sequence[str] | None = None,
    report_progress: ProgressCallback = silent,
    actor: Any = None,
) -> Collected:
    """Store the answers so far as judgments.

    `count` lists the judges whose answers from before their reinstatement count, and no others; None: the
    same as for the batch's newest judgments. Raises BatchError if nobody answered and for a judge without
    such answers, and Busy. An exception of `report_progress` stops it, and then nothing is stored.
    """
    batch = batch_named(name)
    with work_lock(f"batch.{name}", "batch", name):
        batch.refresh_from_db()
        report_progress("reading answers", 0.0)
        if count is not None:
            _check_reinstated(batch, count)
        answers, who = answers_of(batch, count=count)
        pairs = list(answers.judged_pairs(names_of(batch.corpus.name)))
        if not pairs:
            raise BatchError(f"batch {name!r} has no valid judgments yet; collect it later")
        before = batch.judgments
        report = _store_answers(
            batch, pairs, counted_in(who), part_of_progress(report_progress, 0.4, 1.0), actor
        )
        if before is None or report.judgments != before.name:
            row = JudgmentSet.objects.get(corpus=batch.corpus, name=report.judgments)
            Batch.objects.filter(pk=batch.pk).update(judgments=row, collections=F("collections") + 1)
    stored = (
        PairAnswers.objects.filter(judgments=before) if before is not None else PairAnswers.objects.none()
    )
    had = set(stored.values_list("image", "caption"))
    return Collected(
        batch=name,
        judgments=report.judgments,
        unchanged=report.unchanged,
        pairs=report.pairs,
        answers=report.answers,
        new=len(answers.of.keys() - had),
        unused={
            judge: judge_row.unused
            for judge, judge_row in who[name].items()
            if judge_row.unused and judge_row.answers
        },
        before=staying_out(who[name]),
        counted={judge: judge_row.before for judge, judge_row in who[name].items() if judge_row.counted},
        short=short_of(batch, answers, selected_pairs_of(batch)),
        digest=report.digest,
    )


def judges_of(batch: Batch) -> dict[str, Judge]:
    """Return everybody with a trust state in the batch's campaign, by pseudonym."""
    trust = settings_of(batch.campaign.settings).trust
    return judges(batch.campaign, trust, counted=counted_by_name(batch))


def staying_out(people: Mapping[str, Judge]) -> dict[str, int]:
    """Return the judges who count with answers that do not, since these were given before their
    reinstatement: judge -> number."""
    return {judge: row.excluded for judge, row in people.items() if not row.unused and row.excluded}


def counted_in(who: Mapping[str, Mapping[str, Judge]]) -> dict[str, list[str]]:
    """Return, by batch, the judges whose answers from before their reinstatement count; only batches with
    such judges."""
    counted = {
        batch: [judge for judge, row in people.items() if row.counted] for batch, people in who.items()
    }
    return {batch: names for batch, names in counted.items() if names}


def _reinstated(batch: Batch) -> set[str]:
    return {judge for judge, row in judges_of(batch).items() if row.before and not row.unused}


def _check_reinstated(batch: Batch, count: Sequence[str]) -> None:
    """Raise BatchError for a judge without answers from before a reinstatement."""
    there = _reinstated(batch)
    for judge in count:
        if judge not in there:
            raise BatchError(
                f"judge {judge!r} of batch {batch.name!r} has no answers from before a suspension by the "
                "trust rules that was lifted; judges with such answers: "
                f"{', '.join(sorted(there)) or 'none'}"
            )


def answers_of(
    batch: Batch, *, count: Sequence[str] | None = None
) -> tuple[Answers, dict[str, dict[str, Judge]]]:
    """Return all answers that belong to the batch's judgments, and the judges of each batch they come from.

    `count`: as for `collect`.
    """
    return answers_of_batches(
        corpus=batch.corpus.name,
        tasks=batch.campaign.tasks,
        reuse=batch.reused,
        batches=earlier(
            batch.corpus.name, batch.campaign.tasks, simulated=batch.campaign.simulated, until=batch
        ),
        counted=None if count is None else {batch.name: count},
    )


def is_collected(batch: Batch, answers: Answers, who: Mapping[str, Mapping[str, Judge]]) -> bool:
    """Whether the batch's newest judgments hold exactly these answers, so that collecting now would change
    nothing."""
    newest = batch.judgments
    if newest is None or newest.answer_count != sum(map(len, answers.of.values())):
        return False
    if newest.counted != counted_in(who) or newest.scale != pair_tasks(batch.campaign.tasks).scale.name:
        return False
    # Comparing digests would give the same result, but requires naming and sorting the pairs.
    rows = PairAnswers.objects.filter(judgments=newest).values_list("image", "caption", "grades", "judges")
    held = {(image, caption): (grades, judges) for image, caption, grades, judges in rows.iterator(5_000)}
    return held == {
        pair: (list(answers_of_pair.values()), list(judges_named(answers_of_pair)))
        for pair, answers_of_pair in answers.of.items()
    }


def _store_answers(
    batch: Batch,
    pairs: list[JudgedPair],
    counted: dict[str, list[str]],
    report_progress: ProgressCallback,
    actor: Any,
) -> JudgmentsReport:
    """Store `pairs` and who is `counted` as a set: the batch's newest where it is the same, else the next."""
    corpus, source = batch.corpus.name, judgments_source(batch)
    report_progress("keeping judgments", 0.0)
    scale = pair_tasks(batch.campaign.tasks).scale
    digest = digest_of_judgments(corpus=corpus, pairs=pairs, source=source, scale=scale)
    name = batch.judgments.name if batch.judgments is not None else batch.name
    published = JudgmentSet.objects.filter(corpus=batch.corpus, published=True)
    sets = {called: same for called, *same in published.values_list("name", "digest", "counted")}
    number = 1
    while name in sets and sets[name] != [digest, counted]:
        number += 1
        name = f"{batch.name}-{number}"
    reported_pairs = report_steps(
        pairs,
        total=len(pairs),
        report_progress=part_of_progress(report_progress, 0.2, 1.0),
        phase="keeping judgments",
    )
    target = JudgmentsTarget(
        corpus=corpus,
        name=name,
        format=f"{BATCH_FORMAT}{batch.campaign.tasks}",
        source=source,
        scale=scale,
        simulated=batch.campaign.simulated,
    )
    return store_judgments(reported_pairs, target, counted=counted, actor=actor)


def short_of(batch: Batch, answers: Answers, pairs: Collection[tuple[int, int]]) -> int:
    """Return how many of `pairs` have fewer answers than the batch requests; answers of any batch count."""
    return sum(len(answers.of.get(pair, ())) < batch.judges for pair in pairs)
