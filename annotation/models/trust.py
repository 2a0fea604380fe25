"""Trust: a worker's state for a kind of question, and the control items that it is based on."""

from django.db import models
from django.db.models import F, Q

from annotation.models.corpus import Image
from annotation.models.crowd import Account, Worker
from annotation.models.layers import Layer
from annotation.models.work import Campaign


class Control(models.Model):
    """A control item: a question with a gold answer. Never changed once anybody has seen it.

    `purpose`: "control" items are mixed into the work, "qualification" items make up the test. `content` is
    what is shown, as an Item's; `known` is the gold answer; `stratum` is the answer over which items are
    balanced. `explanation` is the reason, for workers who got it wrong in practice. Items that a ruling or a
    withdrawal contradicts later are retired (`control_items.contradicted`).
    """

    CONTROL = "control"
    QUALIFICATION = "qualification"
    PURPOSES = (CONTROL, QUALIFICATION)

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="controls", db_index=False)
    kind = models.CharField(max_length=40)
    purpose = models.CharField(max_length=20, default=CONTROL)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    key = models.TextField()
    content = models.JSONField()
    known = models.JSONField()
    stratum = models.CharField(max_length=40)
    source = models.CharField(max_length=40, help_text="gold, page, csv, promoted")
    layer = models.ForeignKey(
        Layer,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="Where its answer was read, of one from gold",
    )
    explanation = models.TextField(blank=True)
    active = models.BooleanField(default=True)
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "purpose", "image", "key"], name="control_item_once_per_purpose"
            ),
        ]
        indexes = [models.Index(fields=["campaign", "kind", "purpose"], name="control_pool")]

    def __str__(self) -> str:
        return f"{self.purpose} {self.kind}: {self.stratum}"


class TrustState(models.Model):
    """A worker's trust for one kind of question in one campaign: `protocol.trust.WorkerTrust` as a row.

    `last` has the newest checked answers, oldest first, "1" right and "0" wrong. `cursor` is the rank at
    which this worker last found a task beyond the head of the queue. `blocked` is a researcher's suspension,
    which overrides the rules, with its `reason`; `withdrawn_at` is set when the worker's judgments of this
    kind were withdrawn, an independent act with its own reason. `attempt` counts tests begun. A renewed trust
    state counts from the judgment after `since`.
    """

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="trust_states", db_index=False
    )
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="trust_states")
    kind = models.CharField(max_length=40)
    state = models.CharField(max_length=20, default="qualification")
    entered = models.BooleanField(default=False)
    entered_tasks = models.PositiveIntegerField(null=True, blank=True)
    entered_approved = models.FloatField(null=True, blank=True)
    examined_right = models.PositiveSmallIntegerField(null=True, blank=True)
    examined_items = models.PositiveSmallIntegerField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    items = models.PositiveIntegerField(default=0)
    known = models.PositiveIntegerField(default=0)
    right = models.PositiveIntegerField(default=0)
    last = models.CharField(max_length=1000, blank=True)
    cursor = models.BigIntegerField(default=0)
    since = models.BigIntegerField(default=0, db_default=0)
    blocked = models.BooleanField(default=False)
    reason = models.CharField(max_length=200, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_reason = models.CharField(max_length=200, blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "worker", "kind"], name="trust_state_once"),
            models.CheckConstraint(condition=Q(right__lte=F("known")), name="trust_state_right_among_known"),
        ]

    def __str__(self) -> str:
        return f"worker {self.worker_id}, {self.kind}: {self.state}"

    @property
    def is_out(self) -> bool:
        """Whether a researcher removed the worker from the kind: suspended them, or withdrew their
        judgments."""
        return self.blocked or self.withdrawn_at is not None

    @property
    def why_out(self) -> str:
        """The reason for the worker; a suspension's before a withdrawal's."""
        return self.reason or self.withdrawn_reason
