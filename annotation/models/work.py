"""Work: campaigns, drafts of unopened campaigns, and background jobs."""

from django.db import models
from django.db.models import Q

from annotation.common.roles import Scope
from annotation.models.corpus import Corpus
from annotation.models.crowd import Account, Worker
from annotation.protocol.kinds import kinds_of_tasks


class Campaign(models.Model):
    """A corpus, its questions, and their settings.

    `draft`: its images are not opened yet. `open`: tasks are leased. `paused`: none are, but leased ones may
    be submitted. `closed`: for good. `annotation.campaigns` changes the state.
    """

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"
    STATES = (DRAFT, OPEN, PAUSED, CLOSED)

    name = models.SlugField(max_length=100, unique=True)
    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="campaigns")
    tasks = models.CharField(max_length=40, help_text="entities, relevance, graded, captions, regions")
    settings = models.JSONField(default=dict, blank=True, help_text="Those in force")
    settings_version = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="Which of its SettingsVersions they are"
    )
    state = models.CharField(max_length=20, default=DRAFT, db_default=DRAFT)
    reason = models.CharField(
        max_length=200, blank=True, db_default="", help_text="Why it is paused or closed"
    )
    revision = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Rises when settings, control items or instructions change"
    )
    seed = models.PositiveIntegerField(default=1, db_default=1, help_text="Of controls and double checks")
    open_to_all = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether every annotator of the server may work on it, not only who came for it",
    )
    simulated = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether simulated workers answer it: no person works on it, and nobody is paid for it",
    )
    pilot = models.JSONField(
        null=True, blank=True, help_text="What is still to be opened where it began as a pilot"
    )
    opened_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when lists leave it out, unless they are asked for it"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """The scope of the required role."""
        return Scope(self.corpus_id, self.pk)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its kinds of question, in the order of the workflow."""
        return kinds_of_tasks(self.tasks)


class SettingsVersion(models.Model):
    """A version of a campaign's settings. Never changed.

    `Campaign.settings` repeats the newest, which is in force. Each lease has the number of the version under
    which it was given, and each open image that of the version under which it was opened.
    """

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="settings_versions", db_index=False
    )
    number = models.PositiveSmallIntegerField(help_text="From 1")
    settings = models.JSONField()
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["campaign", "number"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="settings_version_once"),
        ]

    def __str__(self) -> str:
        return f"settings of campaign {self.campaign_id}, version {self.number}"


class Job(models.Model):
    """A long task outside a request: its kind, its progress, its result.

    Deliveries (Celery, or the embedded server's poller) only contain the row's id; the row is authoritative.
    `checkpoint` is what the job needs to resume after its process died.
    """

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    #: States in which a job waits or runs.
    LIVE = (QUEUED, RUNNING)

    campaign = models.ForeignKey(
        Campaign,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="jobs",
        help_text="If it is of one",
    )
    corpus = models.ForeignKey(
        Corpus,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="If it is of one, and of no campaign",
    )
    kind = models.CharField(max_length=80)
    arguments = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=20, default=QUEUED)
    phase = models.CharField(max_length=80, blank=True)
    share = models.FloatField(default=0.0, help_text="Of the whole, 0 to 1")
    share_before = models.FloatField(default=0.0, db_default=0.0, help_text="When this run of it began")
    checkpoint = models.JSONField(default=dict, blank=True)
    result = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
    cancel = models.BooleanField(default=False, db_default=False, help_text="Asked to stop")
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(share__gte=0.0, share__lte=1.0), name="job_share_is_a_share"),
        ]
        indexes = [models.Index(fields=["state", "heartbeat_at"], name="job_by_state")]

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk} ({self.state})"

    @property
    def scope(self) -> Scope:
        """The scope of the role that may control it and download its result."""
        return self.campaign.scope if self.campaign is not None else Scope(self.corpus_id)


class Instructions(models.Model):
    """One version of a campaign's text for its workers. `kind` is a question, or "consent".

    Never changed: a new text is a new version. Judgments have the version they were given under.
    """

    CONSENT = "consent"

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="instructions", db_index=False
    )
    kind = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown-free: paragraphs separated by blank lines")
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "instructions"
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "kind", "version"], name="instructions_version_once_per_kind"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, version {self.version}"


class Consent(models.Model):
    """A worker's consent to a version of a campaign's consent text."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="consents", db_index=False)
    text = models.ForeignKey(Instructions, on_delete=models.CASCADE, related_name="consents")
    given_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["worker", "text"], name="consent_once_per_version")]

    def __str__(self) -> str:
        return f"worker {self.worker_id} to {self.text_id}"


class Payout(models.Model):
    """A payment to a worker, in millionths of the campaign's currency.

    Never changed, except that it may be voided once, with a reason: then it was not paid.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="payouts")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="payouts")
    amount = models.BigIntegerField()
    reference = models.CharField(max_length=100, blank=True)
    paid_by = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    paid_at = models.DateTimeField(auto_now_add=True)
    voided_at = models.DateTimeField(null=True, blank=True)
    voided_by = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    void_reason = models.CharField(max_length=200, blank=True, default="", db_default="")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="payout_is_positive"),
            models.CheckConstraint(
                condition=Q(voided_at__isnull=True, void_reason="")
                | Q(voided_at__isnull=False) & ~Q(void_reason=""),
                name="payout_voided_with_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} to worker {self.worker_id}"


class AuditEntry(models.Model):
    """Who changed what, and when: one line for each act of a reviewer, researcher or admin.

    Never changed: the database rejects it (migration 0002), except that `actor` and `campaign` become null
    when these are deleted, and that a reason about an erased worker becomes ERASED_REASON. Names stay. So no
    line may reveal the person behind a pseudonym: about a worker it contains only the pseudonym, never with
    their account or their ids on a platform.
    """

    #: A worker changed an answer: no act of staff, so it has no actor.
    CHANGE_ANSWER = "change_answer"
    #: Replaces a typed reason about a worker who was erased.
    ERASED_REASON = "erased"
    #: Reasons for a missing actor: a worker did it, whose account must not be named beside their pseudonym,
    #: or a crowd platform reported somebody's identity.
    THEMSELVES, PLATFORM = "themselves", "platform"

    actor = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    actor_name = models.CharField(max_length=150, blank=True, default="", db_default="")
    campaign = models.ForeignKey(
        Campaign, on_delete=models.SET_NULL, null=True, blank=True, related_name="audit", db_index=False
    )
    campaign_name = models.CharField(max_length=100, blank=True, default="", db_default="")
    act = models.CharField(max_length=40)
    about = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["campaign", "-id"], name="audit_by_campaign"),
            models.Index(fields=["act", "-id"], name="audit_by_act"),
        ]

    def __str__(self) -> str:
        return self.act


class CampaignDraft(models.Model):
    """Input of the steps of opening a campaign; only its owner's, until it is opened or deleted.

    `fields` has the input, by field, valid or not, without untouched fields. `settings` are imported, or
    those of the campaign `like`, in the form of a campaign's; empty if all are defaults. `marks` are control
    items that its owner answered, each with its corpus. `sample` is the estimate's count so far.
    """

    owner = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="campaign_drafts")
    corpus = models.ForeignKey(Corpus, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    like = models.ForeignKey(Campaign, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    fields = models.JSONField(default=dict, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    marks = models.JSONField(default=list, blank=True)
    sample = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"draft {self.pk}: {self.fields.get('name', '')}"
