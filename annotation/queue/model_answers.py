"""Answers of model annotators: the open questions of an image for which one has an answer are leased and
submitted one by one.

This happens as soon as a person's answer that opened such a question is committed, and in periodic jobs.
Nothing is reserved: a question that a person takes first is theirs.
"""

import logging
import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from annotation.models import Assignment, Campaign, ModelAnnotator, ModelProposals, OpenImage, Task
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import mention_from, question_from
from annotation.protocol.model_annotators import boxes_of_others, model_tries, model_trust, next_proposal
from annotation.protocol.questions import VOTE, Answer, BadJudgment
from annotation.protocol.terms import Chain
from annotation.queue.leases import TAKEN, Lease, return_lease, take_model_lease, why_no_model_lease
from annotation.selectors.model_annotators.boxes import NewestVerdicts, drawing_kinds
from annotation.selectors.model_annotators.proposals import drawing_answers, model_at_work, proposals_from

_log = logging.getLogger(__name__)

#: Stores an answer, as `submission.submit` does.
Submit = Callable[..., Any]
#: Number of open images processed in one round.
IMAGES_PER_ROUND = 500


class _Round:
    """A round of a model annotator, with the values that are computed once.

    `kinds` are those in which it may draw now; the round is `over` where there are none, and after the first
    lease that it is refused.
    """

    def __init__(self, campaign: Campaign, annotator: ModelAnnotator, submit: Submit) -> None:
        self.model_annotator, self.submit, self.settings = annotator, submit, settings_of(campaign.settings)
        self.kinds = tuple(
            kind
            for kind in drawing_kinds(campaign)
            if why_no_model_lease(worker=annotator.worker_id, campaign=campaign, kind=kind) is None
        )
        self.over = not self.kinds
        self._verdicts: NewestVerdicts | None = None

    def open_tasks(self) -> QuerySet[Task]:
        """Return the open questions that it may answer, without those that it returned or has answered as
        often as it may."""
        assignments = Assignment.objects.filter(task=OuterRef("pk"), worker=self.model_annotator.worker_id)
        tries = self.settings.model_annotator.tries
        over = assignments.filter(~Q(state=Assignment.SUBMITTED) | Q(attempt__gte=tries - 1))
        tasks = Task.objects.filter(kind__in=self.kinds, state=Task.OPEN, role=VOTE, live__lt=F("needed"))
        return tasks.exclude(Exists(over))

    def leaves(self, kind: str, categories: Iterable[str]) -> bool:
        """Whether one of these categories is left to people (`protocol.model_annotators.categories_left`)."""
        if self._verdicts is None:
            self._verdicts = NewestVerdicts(self.model_annotator, since=self.model_annotator.version)
        trust = model_trust(self.settings.trust, self.settings.model_annotator)
        window = trust.window_of(kind)
        return any(
            trust.suspends(kind, self._verdicts.of_category(category, window)) for category in categories
        )


def answer_open_image(image: int, submit: Submit) -> int:
    """Answer what the campaign's model annotator can answer about an open image (row id); return the number
    of answers."""
    row = OpenImage.objects.select_related("campaign", "image").get(pk=image)
    if not settings_of(row.campaign.settings).model_annotator.takes(row.image.key, seed=row.campaign.seed):
        return 0
    annotator = model_at_work(row.campaign_id)
    return 0 if annotator is None else _answer_image(row, _Round(row.campaign, annotator, submit))


def answer_waiting_images(campaign: Campaign, submit: Submit, *, at_most: int = IMAGES_PER_ROUND) -> int:
    """Do the same for the campaign's open images that wait for it, at most `at_most`; return the number of
    answers."""
    annotator = model_at_work(campaign.pk)
    if annotator is None:
        return 0
    campaign = annotator.campaign  # its current settings: they may have changed since the training run
    if not settings_of(campaign.settings).model_annotator.share:
        return 0
    round = _Round(campaign, annotator, submit)
    if round.over:
        return 0
    open_tasks = round.open_tasks().filter(campaign=campaign)
    waiting = OpenImage.objects.filter(
        campaign=campaign,
        complete=False,
        pk__in=open_tasks.values("image"),
        proposals__model_annotator=annotator,
        proposals__version=annotator.version,
    )
    rows = waiting.select_related("campaign", "image")
    return sum(_answer_image(row, round) for row in _chosen(rows, at_most))


def _chosen(waiting: QuerySet[OpenImage], at_most: int) -> list[OpenImage]:
    """Return at most `at_most` of the waiting images.

    Half of them are the most recently changed ones: where the model annotator was unsure before, it still is.
    The rest start at a random image, so that images without an answer cannot block others forever.
    """
    chosen = list(waiting.order_by("-changed_at")[: at_most - at_most // 2])
    others = waiting.exclude(pk__in=[row.pk for row in chosen])
    ends = others.aggregate(first=Min("pk"), last=Max("pk"))
    if ends["first"] is not None:
        begin = random.randint(ends["first"], ends["last"])
        chosen += others.filter(pk__gte=begin).order_by("pk")[: at_most // 2]
        left = at_most - len(chosen)
        chosen += others.filter(pk__lt=begin).order_by("pk")[:left]
    return chosen


def _answer_image(row: OpenImage, round: _Round) -> int:
    annotator = round.model_annotator
    if round.over or not round.settings.model_annotator.takes(row.image.key, seed=row.campaign.seed):
        return 0
    # Proposals of a later version belong to an unfinished training run.
    stored = ModelProposals.objects.filter(
        model_annotator=annotator, image=row, version=annotator.version
    ).first()
    if stored is None:
        return 0
    count = 0
    for task, attempt, answer in _answers(row, round, stored):
        lease = take_model_lease(
            worker=annotator.worker_id, campaign=row.campaign, kind=task.kind, task=task.pk, attempt=attempt
        )
        if not isinstance(lease, Lease):
            if lease.code == TAKEN:
                continue
            # What keeps it from this task keeps it from all.
            round.over = True
            break
        try:
            round.submit(
                worker=annotator.worker_id,
                assignment=lease.id,
                answer=answer,
                token=secrets.token_hex(16),
                seconds=0.0,
                then=False,
            )
            count += 1
        except BadJudgment as error:
            # Such a box was stored before the picture's size was known: people draw.
            _log.warning("model annotator %s, image %s: %s", annotator.name, row.image.key, error)
            return_lease(worker=annotator.worker_id, assignment=lease.id)
        except BaseException:
            return_lease(worker=annotator.worker_id, assignment=lease.id)  # For people to draw.
            raise
    return count


def _answers(row: OpenImage, work: _Round, stored: ModelProposals) -> Iterator[tuple[Task, int, Answer]]:
    """Yield the open tasks about an image for which the model annotator has an answer, each with how many
    boxes it drew for it before, and the answer."""
    mentions = {mention.id: mention for mention in map(mention_from, row.mentions)}
    proposals = proposals_from(stored.boxes)
    least = work.settings.model_annotator.least_chance
    # An image keeps the limits with which it was opened.
    tries = model_tries(work.settings.model_annotator, settings_of(row.settings).protocol.limits)
    assignments = Count("assignments", filter=Q(assignments__worker=work.model_annotator.worker_id))
    # Read before the answers: if another round has drawn since, the lease is refused.
    tasks = list(work.open_tasks().filter(image=row).annotate(attempts=assignments).order_by("pk"))
    drawings = drawing_answers(row.campaign, row) if tasks else []
    reported = {mention.key for mention in drawings if mention.reported}
    by_models = Counter(mention.key for mention in drawings if mention.by_model)
    # Phrases that a reviewer removed have boxes that no longer count.
    accepted = [
        (mention.mentions, mention.box)
        for mention in drawings
        if mention.box and mention.accepted and mention.mentions <= mentions.keys()
    ]
    for task in tasks:
        if task.key in reported or by_models[task.key] >= tries:
            continue
        content = task.items.get(position=0).content
        question = question_from(task.kind, task.key, content)
        of_chain = tuple(mentions[name] for name in question.mentions)
        about = frozenset(question.mentions)
        proposal = next_proposal(
            proposals,
            of_chain,
            question.boxes,
            least_chance=least,
            rejected=[
                mention.box
                for mention in drawings
                if mention.box and mention.accepted is False and mention.mentions == about
            ],
            of_others=boxes_of_others(accepted, of_chain, question.boxes, mentions),
        )
        if proposal is None:
            continue
        categories = Chain("", of_chain).categories
        if not work.leaves(task.kind, categories):
            provenance = {
                "chance": round(proposal.chance, 3),
                "version": stored.version,
                "categories": list(categories),
            }
            yield task, task.attempts, Answer("drawn", proposal.box, content=provenance)
