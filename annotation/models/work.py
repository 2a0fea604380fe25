"""Work: campaigns, and the jobs that run beside the pages."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.corpus import Corpus
from annotation.models.crowd import Account


class Campaign(models.Model):
    """A corpus, the questions asked about it, and the settings they are asked under."""

    name = models.SlugField(max_length=100, unique=True)
    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="campaigns")
    tasks = models.CharField(max_length=40, help_text="entities, relevance, graded, captions, regions")
    settings = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Job(models.Model):
    """Something long that runs outside a page: what it is, how far it is, how it ended.

    Deliveries (Celery, or the embedded server's poller) carry only the row's id; the row
    is the truth. `checkpoint` is whatever the job needs to go on after its process died.
    """

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    kind = models.CharField(max_length=80)
    arguments = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=20, default=QUEUED)
    phase = models.CharField(max_length=80, blank=True)
    share = models.FloatField(default=0.0, help_text="Of the whole, 0 to 1")
    checkpoint = models.JSONField(default=dict, blank=True)
    result = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
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
