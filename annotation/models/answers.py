"""Answers and their consequences: judgments, reports, the moves of chains, rulings, and stored sums.

Who writes these, the order of row locks, and why the campaign has no foreign key constraint here: see
`queue`.
"""

from django.db import models
from django.db.models import F, Q

from annotation.models.crowd import Account, Worker
from annotation.models.queue import Assignment, OpenImage
from annotation.models.work import Campaign


class Judgment(models.Model):
    """One worker's answer; only `withdrawn` changes, and for a while the worker may change the answer
    (`moderation.reopening`).

    `name` is a digest of image, worker and key, which identifies it in the fold. Our judgments have an
    assignment; imported ones have a `source` and none. Control answers have no image of the campaign's: they
    are outside its fold. `content` is what was ticked, written or described, if the answer's word is not all
    (`annotation.task_types` defines its form).
    """

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="judgments", db_index=False, db_constraint=False
    )
    image = models.ForeignKey(
        OpenImage, on_delete=models.CASCADE, null=True, blank=True, related_name="judgments", db_index=False
    )
    assignment = models.ForeignKey(
        Assignment, on_delete=models.PROTECT, null=True, blank=True, related_name="judgments", db_index=False
    )
    source = models.CharField(max_length=100, blank=True)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="judgments", db_index=False)
    kind = models.CharField(max_length=40)
    key = models.TextField()
    name = models.CharField(max_length=18)
    role = models.CharField(max_length=20)
    answer = models.CharField(max_length=40, blank=True)
    # Columns have other names: xmin and xmax are PostgreSQL's own in every table.
    xmin = models.PositiveIntegerField(null=True, blank=True, db_column="x_min")
    ymin = models.PositiveIntegerField(null=True, blank=True, db_column="y_min")
    xmax = models.PositiveIntegerField(null=True, blank=True, db_column="x_max")
    ymax = models.PositiveIntegerField(null=True, blank=True, db_column="y_max")
    way = models.CharField(
        max_length=20, blank=True, default="", db_default="", help_text="How the box came about, where known"
    )
    content = models.JSONField(null=True, blank=True)
    flag = models.CharField(max_length=40, blank=True)
    withdrawn = models.BooleanField(default=False)
    schema = models.PositiveSmallIntegerField(default=1, help_text="Version of the answer's form")
    instructions = models.PositiveIntegerField(default=0, help_text="Version they were given under")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["image", "name"], name="judgment_once_per_image_worker_and_key"),
            models.UniqueConstraint(fields=["assignment", "key"], name="answer_once_per_assignment_and_key"),
            models.CheckConstraint(
                condition=Q(assignment__isnull=False, source="")
                | (Q(assignment__isnull=True) & ~Q(source="")),
                name="judgment_ours_or_from_a_source",
            ),
            models.CheckConstraint(
                condition=(Q(answer="") & ~Q(flag="")) | (Q(flag="") & ~Q(answer="")),
                name="judgment_answers_or_flags",
            ),
            models.CheckConstraint(
                condition=Q(xmin__isnull=True, ymin__isnull=True, xmax__isnull=True, ymax__isnull=True)
                | Q(xmin__gte=1, ymin__gte=1, xmax__gte=F("xmin"), ymax__gte=F("ymin")),
                name="judgment_box_is_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["campaign", "worker", "kind"], name="judgment_by_worker"),
            # Of few answers, so that storing others costs nothing.
            models.Index(
                fields=["campaign", "role", "id"],
                name="judgment_without_image",
                condition=Q(image__isnull=True),
            ),
            models.Index(fields=["campaign", "id"], name="judgment_withdrawn", condition=Q(withdrawn=True)),
            models.Index(fields=["campaign", "id"], name="judgment_reported", condition=~Q(flag="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.flag or self.answer}"


class Flag(models.Model):
    """A report that a worker sent instead of an answer, and its state."""

    judgment = models.OneToOneField(Judgment, on_delete=models.CASCADE, related_name="report")
    comment = models.TextField(blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        indexes = [
            models.Index(fields=["id"], name="flag_unresolved", condition=Q(resolved_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"flag on judgment {self.judgment_id}"


class CaptionFlag(models.Model):
    """A reason to look at a written caption: a value that passed a threshold (`protocol.caption_flags`).

    The periodic work writes and deletes them (`quality.caption_flags`). `similar_to`: the caption that this
    one repeats or copies.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="caption_flags")
    judgment = models.ForeignKey(
        Judgment, on_delete=models.CASCADE, related_name="caption_flags", db_index=False
    )
    reason = models.CharField(max_length=20)
    value = models.FloatField()
    threshold = models.FloatField()
    similar_to = models.ForeignKey(
        Judgment, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["judgment", "reason"], name="caption_flag_once_per_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.reason} of judgment {self.judgment_id}"


class AnswerReview(models.Model):
    """A reviewer's decision about an answer. A rejected answer is withdrawn; its worker gets the reason as a
    message.

    `text` is a corrected caption; the original stays in the judgment. `withheld`: what its assignment paid,
    in millionths of the currency, where it is not paid; the assignment's `pay` is then 0.
    """

    ACCEPTED, REJECTED = "accepted", "rejected"

    judgment = models.OneToOneField(Judgment, on_delete=models.CASCADE, related_name="review")
    decision = models.CharField(max_length=20)
    reason = models.CharField(max_length=200, blank=True, help_text="The worker reads it")
    text = models.TextField(blank=True)
    withheld = models.BigIntegerField(default=0, db_default=0)
    reviewed_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    reviewed_at = models.DateTimeField()
    message = models.ForeignKey(
        "WorkerMessage", on_delete=models.SET_NULL, null=True, blank=True, related_name="reviews"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(decision="accepted", reason="") | Q(decision="rejected", text="") & ~Q(reason=""),
                name="review_rejects_with_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(withheld=0) | Q(decision="rejected", withheld__gt=0),
                name="review_withholds_pay_of_rejected_answers",
            ),
        ]
        indexes = [
            models.Index(fields=["judgment"], name="review_withholds_pay", condition=Q(withheld__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.decision}: judgment {self.judgment_id}"


class Move(models.Model):
    """One step of a chain in the fold. `undone_at` is set when a refold reverts it."""

    image = models.ForeignKey(OpenImage, on_delete=models.CASCADE, related_name="moves", db_index=False)
    chain = models.TextField(help_text="Its mentions' ids, in caption order")
    number = models.PositiveSmallIntegerField(help_text="Step of this chain, from 0")
    stage = models.CharField(max_length=40)
    outcome = models.CharField(max_length=40)
    next = models.CharField(max_length=40)
    at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["image", "chain", "number"],
                condition=Q(undone_at__isnull=True),
                name="step_once_per_chain",
            ),
        ]
        indexes = [models.Index(fields=["image", "id"], name="move_by_image")]

    def __str__(self) -> str:
        return f"{self.stage} {self.outcome} -> {self.next}"


class Ruling(models.Model):
    """A reviewer's assertion about an image. Withdrawn ones stay, and no longer count.

    `content` is {"kind": partition, keep_apart, boxes, closure or resume, ...}, in the form of
    `annotation.protocol.contents`.
    """

    image = models.ForeignKey(OpenImage, on_delete=models.CASCADE, related_name="rulings")
    content = models.JSONField()
    comment = models.TextField(blank=True)
    made_by = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)
    withdrawn_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.content.get('kind')} on image {self.image_id}"


class CampaignSums(models.Model):
    """Sums of all answers of a campaign that ended at `until` or before, as of its `revision`.

    Later answers are added when it is read (`selectors.campaign.ledger`). `counted_at`: when all of them were
    last added up. A row may be deleted: the sums are then counted again.
    """

    EARNED = "earned"
    HOURS = "hours"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="sums", db_index=False)
    what = models.CharField(max_length=10, help_text="By worker, kind and role; or by hour")
    revision = models.PositiveIntegerField(help_text="Of the campaign, when it was counted")
    until = models.DateTimeField()
    counted_at = models.DateTimeField()
    sums = models.JSONField()

    class Meta:
        verbose_name_plural = "campaign sums"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "what"], name="sums_once_per_campaign"),
        ]

    def __str__(self) -> str:
        return f"{self.what} of campaign {self.campaign_id}"
