"""Notifications: webhooks and their deliveries, alarms and their subscribers by e-mail."""

from django.db import models
from django.db.models import Q

from annotation.common.roles import Scope
from annotation.models.corpus import Corpus
from annotation.models.crowd import Account
from annotation.models.work import Campaign


class Webhook(models.Model):
    """An address that is notified of events: of a campaign, of a corpus and everything in it, or of the whole
    server.

    The signing secret is not stored: it is computed from `salt` and SECRET_KEY. Nothing is sent unless
    `owner` is a researcher for its scope at that time.
    """

    name = models.CharField(max_length=100, help_text="What it is for, in the words of its owner")
    address = models.CharField(max_length=500)
    events = models.JSONField(default=list, help_text="Of which events it is told")
    salt = models.CharField(max_length=64)
    active = models.BooleanField(default=True)
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    owner = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(corpus=None) | Q(campaign=None), name="webhook_for_one_thing"),
        ]

    def __str__(self) -> str:
        return f"webhook {self.pk} ({self.name})"

    @property
    def scope(self) -> Scope:
        """The scope of its events."""
        return self.campaign.scope if self.campaign is not None else Scope(self.corpus_id)


class WebhookDelivery(models.Model):
    """One event for one webhook: the message, and the number of attempts.

    `message` and `body` are the same in every attempt. It waits until it is delivered, or given up.
    """

    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    message = models.CharField(
        max_length=60, unique=True, help_text="The id by which receivers know it again"
    )
    event = models.CharField(max_length=40)
    body = models.TextField(help_text="JSON as it is sent, byte for byte")
    state = models.CharField(max_length=20, default=WAITING)
    attempts = models.PositiveIntegerField(default=0)
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="HTTP, of the last attempt")
    error = models.CharField(max_length=300, blank=True, help_text="Why the last attempt failed")
    created_at = models.DateTimeField()
    begun_at = models.DateTimeField(help_text="From when on the days count after which it is given up")
    next_at = models.DateTimeField(null=True, blank=True, help_text="When it is tried next")
    tried_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="waiting"), name="webhook_delivery_due"),
            models.Index(fields=["ended_at"], name="webhook_delivery_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.message} ({self.event}, {self.state})"


class RaisedAlarm(models.Model):
    """A current alarm of a campaign or, without one, of the server, so that it is sent once."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    code = models.CharField(max_length=40)
    kind = models.CharField(max_length=40, blank=True)
    text = models.TextField(blank=True)
    raised_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "code", "kind"],
                condition=Q(campaign__isnull=False),
                name="alarm_once_per_campaign",
            ),
            models.UniqueConstraint(
                fields=["code", "kind"], condition=Q(campaign=None), name="alarm_once_per_server"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.kind}".strip()


class AlarmSubscription(models.Model):
    """A subscriber to alarms by e-mail: of a campaign, of a corpus's campaigns, or of the whole server.

    `language` is that of the e-mail.
    """

    account = models.ForeignKey(
        Account, on_delete=models.CASCADE, related_name="alarm_subscriptions", db_index=False
    )
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    language = models.CharField(max_length=10)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(corpus=None) | Q(campaign=None), name="alarms_for_one_thing"),
            models.UniqueConstraint(
                fields=["account"], condition=Q(corpus=None, campaign=None), name="alarms_once_per_account"
            ),
            models.UniqueConstraint(
                fields=["account", "corpus"],
                condition=Q(corpus__isnull=False),
                name="alarms_once_per_corpus",
            ),
            models.UniqueConstraint(
                fields=["account", "campaign"],
                condition=Q(campaign__isnull=False),
                name="alarms_once_per_followed",
            ),
        ]

    def __str__(self) -> str:
        return f"alarms for account {self.account_id}"

    @property
    def scope(self) -> Scope:
        """The scope of the alarms."""
        return self.campaign.scope if self.campaign is not None else Scope(self.corpus_id)


class PeriodicRun(models.Model):
    """The last run of a periodic task, and its result."""

    #: Names of backups, and of the measurement of the disk, which store their results.
    BACKUP = "backup"
    MEASURE_DISK = "measure_disk"

    name = models.CharField(max_length=60, unique=True)
    begun_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    failed = models.BooleanField(default=False)
    about = models.JSONField(default=dict, blank=True, help_text="What it found, if that is kept")

    def __str__(self) -> str:
        return self.name
