"""The queue: a campaign's questions and their leases; the results are in `answers`.

Writers: `refold_image` writes images, tasks, items and moves; `leases` assignments; `submission` judgments
and flags; `reviewing` rulings. Locks are taken image first, then task, then assignment, then trust states in
the order of their ids; a claim never waits for one.

A task, an assignment and a judgment have their campaign's id besides their parent's, so that indexes can
begin with it. That column has no constraint of its own: each answer would lock the campaign's row three
times, and all answers of a campaign would contend there. Image, task and control link them to it.
"""

from django.db import models
from django.db.models import F, Q

from annotation.models.corpus import Image
from annotation.models.crowd import Worker
from annotation.models.trust import Control
from annotation.models.work import Campaign


class OpenImage(models.Model):
    """An image in a campaign: its mentions, and the state of its fold.

    `mentions` is a list of [caption, start, end, [token, ...], [category, ...]], to which a reviewer may add
    the noun; `opened_mentions` has those with which the image was opened, if rulings changed them.
    `questions` is, in a campaign with counted questions, a list of [kind, key, answers needed]. `state` is
    what `refold_image` last wrote, for the next difference: open questions, chains, moves. `answers` and
    `chain_stages` repeat counts of it, for figures of a whole campaign. `version` increases with every
    refold, `rulings_version` with every ruling. `layer_behind`: the campaign's layer is outdated for the
    image. No index contains a column that every refold changes, so that PostgreSQL writes a refold without
    touching any.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="images", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField(help_text="Lower ones are asked about first")
    priority = models.SmallIntegerField(default=0, db_default=0, help_text="Higher goes first")
    mentions = models.JSONField(default=list)
    opened_mentions = models.JSONField(null=True, blank=True)
    questions = models.JSONField(default=list, blank=True)
    settings = models.JSONField(default=dict, help_text="The protocol's settings when it was opened")
    settings_version = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="Of the campaign, when it was opened"
    )
    state = models.JSONField(default=dict, blank=True)
    version = models.PositiveIntegerField(default=0, db_default=0)
    rulings_version = models.PositiveIntegerField(default=0, db_default=0)
    layer_behind = models.BooleanField(default=False, db_default=False)
    complete = models.BooleanField(default=False, db_default=False)
    flags_version = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Its version when its captions were flagged"
    )
    in_review = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Chains that wait for a reviewer"
    )
    answers = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Answers about it that are not withdrawn"
    )
    chain_stages = models.JSONField(default=dict, blank=True, help_text="Stage: how many chains are at it")
    opened_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "image"], name="image_once_per_campaign"),
        ]
        indexes = [
            models.Index(fields=["campaign", "position"], name="openimage_by_position"),
            models.Index(fields=["campaign"], name="openimage_layer_behind", condition=Q(layer_behind=True)),
            models.Index(fields=["campaign"], name="openimage_in_review", condition=Q(in_review__gt=0)),
            models.Index(fields=["campaign"], name="openimage_unfinished", condition=Q(complete=False)),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id}: image {self.image_id}"


class PlannedImage(models.Model):
    """An image that a campaign will open once others are finished (`model_annotator.images_at_once`). The
    oldest row is opened first, and then deleted."""

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="planned_images", db_index=False
    )
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "image"], name="image_planned_once_per_campaign"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id}: image {self.image_id}, to be opened"


class Task(models.Model):
    """The unit of lease: its number of needed answers, and of those given or leased (`live`).

    A chain's question is one task. `rank` orders tasks, lowest first: by priority, then the image's order.
    `role` is that of its next lease: a vote, or a double check after the votes. `drawn_share`: the question
    was drawn for agreement (`annotation.protocol.double_checks`) with this probability; None if it was not.
    `barred` is the one worker who may not judge it without having leased it: the drawer, or the writer of a
    caption.
    """

    OPEN = "open"
    SETTLED = "settled"
    WITHDRAWN = "withdrawn"

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="tasks_asked", db_index=False, db_constraint=False
    )
    image = models.ForeignKey(OpenImage, on_delete=models.CASCADE, related_name="tasks", db_index=False)
    kind = models.CharField(max_length=40)
    key = models.TextField(help_text="What it is about; see annotation.protocol.questions")
    state = models.CharField(max_length=10, default=OPEN)
    role = models.CharField(max_length=20, default="vote")
    needed = models.PositiveSmallIntegerField()
    live = models.PositiveSmallIntegerField(default=0)
    rank = models.BigIntegerField()
    barred = models.ForeignKey(
        Worker, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    drawn_share = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["image", "key"], name="task_key_once_per_image"),
            models.CheckConstraint(condition=Q(live__lte=F("needed")), name="task_not_over_assigned"),
        ]
        indexes = [
            # Includes tasks without a free lease: every claim would write an index on `live`.
            models.Index(
                fields=["campaign", "kind", "rank", "id"], name="task_to_hand_out", condition=Q(state="open")
            ),
            models.Index(
                fields=["barred"], name="task_unjudged", condition=Q(state="open", kind="box_quality")
            ),
            models.Index(fields=["campaign"], name="task_drawn", condition=Q(drawn_share__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk} ({self.state})"


class Item(models.Model):
    """The unit of trust: one thing to answer in a task. A chain's question has one, a page several.

    `content` is what is shown, in the form of `annotation.protocol.contents`; never changed.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveSmallIntegerField(default=0)
    content = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "position"], name="item_position_once_per_task"),
        ]

    def __str__(self) -> str:
        return f"item {self.position} of task {self.task_id}"


class Assignment(models.Model):
    """A lease of a task, or of a control item, to a worker; once submitted, the line of the ledger.

    `role`: vote, double_check, control, qualification. Planned ones are the remaining items of a test
    (`leased_at` and `ended_at` are then its start). `seconds` exclude idle time; `pay` is in millionths of
    the campaign's currency and is set when the answer arrives.
    """

    PLANNED = "planned"
    LEASED = "leased"
    SUBMITTED = "submitted"
    RETURNED = "returned"
    EXPIRED = "expired"

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    kind = models.CharField(max_length=40)
    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, null=True, blank=True, related_name="assignments", db_index=False
    )
    control = models.ForeignKey(
        Control, on_delete=models.PROTECT, null=True, blank=True, related_name="assignments", db_index=False
    )
    attempt = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="Of a test, from 0. Of a task, above 0: answered once too often by one person (joining), "
        "or a model annotator's further box",
    )
    role = models.CharField(max_length=20)
    settings_version = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="Of the campaign, when it was leased"
    )
    state = models.CharField(max_length=10, default=LEASED)
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    token = models.CharField(max_length=64, blank=True, help_text="Idempotency key of the answer")
    seconds = models.FloatField(default=0.0, db_default=0.0)
    pay = models.BigIntegerField(default=0, db_default=0)
    right = models.BooleanField(null=True, help_text="Whether a control item was answered rightly")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "worker", "attempt"], name="task_once_per_worker"),
            models.UniqueConstraint(
                fields=["control", "worker", "attempt"], name="control_once_per_worker_and_attempt"
            ),
            models.UniqueConstraint(
                fields=["worker", "token"], condition=~Q(token=""), name="one_token_is_one_answer"
            ),
            models.CheckConstraint(
                condition=Q(task__isnull=False, control__isnull=True)
                | Q(task__isnull=True, control__isnull=False),
                name="assignment_of_a_task_or_a_control",
            ),
            models.CheckConstraint(
                condition=Q(state="leased", ended_at__isnull=True)
                | (~Q(state="leased") & Q(ended_at__isnull=False)),
                name="assignment_ends_once",
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="assignment_to_expire", condition=Q(state="leased")),
            models.Index(
                fields=["worker", "campaign", "kind"], name="assignment_in_hand", condition=Q(state="leased")
            ),
            models.Index(fields=["campaign", "worker", "kind", "ended_at"], name="assignment_by_worker"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk} of worker {self.worker_id} ({self.state})"


class PageControl(models.Model):
    """A control image that was put on a worker's relevance page when it was leased, and its result.

    `captions`: how many of its captions are shown there, as many as beside a regular image; 0 is all. `right`
    is None until the page is submitted, and if the item was retired before that or its answer withdrawn.
    """

    assignment = models.ForeignKey(
        Assignment, on_delete=models.CASCADE, related_name="page_controls", db_index=False
    )
    control = models.ForeignKey(Control, on_delete=models.PROTECT, related_name="on_pages")
    captions = models.PositiveSmallIntegerField(default=0, db_default=0)
    right = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "control"], name="control_once_per_page"),
        ]

    def __str__(self) -> str:
        return f"control item {self.control_id} on assignment {self.assignment_id}"
