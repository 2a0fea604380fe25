"""Entry: how people come to a campaign, and limits against those who try passwords."""

from django.db import models
from django.db.models import F, Q

from annotation.common.roles import ROLES
from annotation.models.corpus import Corpus
from annotation.models.crowd import Account, Identity
from annotation.models.work import Campaign


class Invitation(models.Model):
    """A link that makes its visitor a worker of a campaign. Its address is signed, not stored."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="invitations")
    label = models.CharField(max_length=100, blank=True, help_text="For whom it is; they do not see it")
    language = models.CharField(
        max_length=20, blank=True, help_text="That the pages speak; else the browser's"
    )
    uses = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many may come; any number if none"
    )
    used = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(uses__isnull=True) | Q(used__lte=F("uses")), name="invitation_not_overused"
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} to campaign {self.campaign_id}"


class StaffInvitation(models.Model):
    """A link by which one person, at one e-mail address, becomes staff. It is signed, not stored."""

    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=40, choices=[(role, role) for role in ROLES])
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        Account,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="None is the command line; an invitation does not outlive the account that sent it",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(corpus=None) | Q(campaign=None), name="staff_invitation_for_one_thing"
            ),
        ]

    def __str__(self) -> str:
        return f"invitation of staff {self.pk}"


class Study(models.Model):
    """A campaign on a crowd platform: the work of a visit, and the platform's completion codes.

    `external_id` is the platform's own id; for platforms without ids, the campaign identifies it.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="studies", db_index=False)
    provider = models.CharField(max_length=40)
    external_id = models.CharField(max_length=100, blank=True)
    answers_required = models.PositiveIntegerField(help_text="Answers that complete a visit")
    completion_code = models.CharField(max_length=50, blank=True)
    screen_out_code = models.CharField(max_length=50, blank=True)
    country = models.CharField(
        max_length=2,
        blank=True,
        default="",
        db_default="",
        help_text="From where alone the platform sends people",
    )
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "studies"
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "external_id"],
                condition=~Q(external_id=""),
                name="study_once_per_provider",
            ),
            models.UniqueConstraint(
                fields=["campaign", "provider"],
                condition=Q(external_id=""),
                name="nameless_study_once_per_campaign",
            ),
            models.CheckConstraint(condition=Q(answers_required__gte=1), name="study_requires_something"),
        ]
        indexes = [models.Index(fields=["campaign"], name="study_by_campaign")]

    def __str__(self) -> str:
        return f"{self.provider} {self.external_id or self.campaign_id}"


class Visit(models.Model):
    """One submission of a study: somebody came from the platform to work, and returns with a code.

    It refers to the identity, not to the worker: the platform's ids identify a person, and are erased with
    it. `outcome` is the code that we sent ("" while they work), `reported` the platform's latest report about
    the submission, at `reported_at`.

    `participant` is the visitor's claimed id. `verification` is the platform's statement about it,
    `verified_by` its source: a signed link, a webhook, its API, or a researcher who looked there. Several
    visitors may claim one submission; at most one of them is confirmed, and one who is not confirmed has a
    separate worker, who was named `came_as` if later merged into another. `links` are digests of the used
    signed links, `asked_at` is the time of the last API request.
    """

    COMPLETE = "complete"
    SCREENED_OUT = "screened_out"

    UNVERIFIED = "unverified"
    WAITING = "waiting"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    #: Those who work without a statement of the platform.
    OPEN = (UNVERIFIED, WAITING)
    #: A platform's reports about submissions that nobody may work on any more.
    OVER = ("RETURNED", "TIMED-OUT", "REJECTED")

    LINK, WEBHOOK, API, HAND = "link", "webhook", "api", "hand"

    identity = models.ForeignKey(Identity, on_delete=models.CASCADE, related_name="visits")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="visits", db_index=False)
    external_id = models.CharField(max_length=100)
    participant = models.CharField(max_length=100, blank=True, default="", db_default="")
    begun_at = models.DateTimeField()
    outcome = models.CharField(max_length=20, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    reported = models.CharField(max_length=40, blank=True)
    reported_at = models.DateTimeField(null=True, blank=True)
    verification = models.CharField(max_length=20, default=UNVERIFIED, db_default=UNVERIFIED)
    verified_by = models.CharField(max_length=20, blank=True, default="", db_default="")
    verified_at = models.DateTimeField(null=True, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    came_as = models.CharField(max_length=40, blank=True, default="", db_default="")
    links = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "external_id"],
                condition=Q(verification="confirmed"),
                name="visit_confirmed_once",
            ),
            models.UniqueConstraint(
                fields=["study", "external_id", "participant"],
                condition=Q(verification__in=["unverified", "waiting"]),
                name="visit_once_per_claim",
            ),
            models.CheckConstraint(
                condition=Q(outcome="", ended_at__isnull=True) | (~Q(outcome="") & Q(ended_at__isnull=False)),
                name="visit_ends_with_an_outcome",
            ),
        ]
        indexes = [models.Index(fields=["study", "external_id"], name="visit_by_submission")]

    def __str__(self) -> str:
        return f"visit {self.pk} to study {self.study_id}"

    @property
    def counts(self) -> bool:
        """Whether it gives a code and pay: the platform confirms the person, or cannot be asked."""
        return self.verification in (self.CONFIRMED, self.UNVERIFIED)


class PlatformReport(models.Model):
    """A platform's latest report about a submission, whether or not anybody has come with it yet.

    Stored for a few days: it names people, some of whom never come.
    """

    provider = models.CharField(max_length=40)
    submission = models.CharField(max_length=100)
    participant = models.CharField(max_length=100)
    status = models.CharField(max_length=40, blank=True)
    at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "submission"], name="report_once_per_submission"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.submission}: {self.status}"


class Attempts(models.Model):
    """Number of attempts at something rate-limited since `since`. `key` is a digest of the action and its
    source."""

    key = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    since = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "attempts"

    def __str__(self) -> str:
        return f"{self.count} attempts since {self.since:%H:%M}"
