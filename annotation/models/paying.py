"""Bonuses of workers, and messages from researchers."""

from django.db import models
from django.db.models import Q

from annotation.models.crowd import Account, Worker
from annotation.models.work import Campaign


class Bonus(models.Model):
    """An amount due to a worker in addition to their answers' pay, in millionths of the campaign's currency.

    Never changed, except that it may be withdrawn until it is paid.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="bonuses")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="bonuses")
    amount = models.BigIntegerField()
    reason = models.CharField(max_length=200, help_text="The worker reads it")
    given_by = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    given_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    withdrawn_reason = models.CharField(max_length=200, blank=True, default="", db_default="")

    class Meta:
        verbose_name_plural = "bonuses"
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="bonus_is_positive"),
            models.CheckConstraint(
                condition=Q(withdrawn_at__isnull=True, withdrawn_reason="")
                | Q(withdrawn_at__isnull=False) & ~Q(withdrawn_reason=""),
                name="bonus_withdrawn_with_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} to worker {self.worker_id}"


class WorkerMessage(models.Model):
    """A researcher's message to a worker: a notice on the worker's pages until it is read, with a `reply`.

    Erasing the worker deletes it, since it may reveal who they are.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="+")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="messages", db_index=False)
    text = models.TextField(help_text="Paragraphs separated by blank lines")
    sent_by = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    sent_at = models.DateTimeField(auto_now_add=True)
    mailed_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    reply = models.TextField(blank=True, default="", db_default="", help_text="Written when it was read")

    class Meta:
        indexes = [
            models.Index(fields=["worker"], name="message_unread", condition=Q(read_at__isnull=True)),
            models.Index(fields=["worker", "campaign", "-id"], name="message_by_worker"),
        ]

    def __str__(self) -> str:
        return f"message {self.pk} to worker {self.worker_id}"
