"""What every kept set of predictions has: captions, tags or localizations of a corpus's images."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from annotation.common.roles import Scope


class KeptPredictions(models.Model):
    """A set of predictions under a name of its own, of the images of a split; no table.

    `system_digest` is that of the system then, `digest` that of the predictions; `asked_digest` is that of
    what was asked about, empty for sets of earlier versions and from files. `remarks` are sentences on how it
    was made. Subclasses add the corpus and the system, as `corpus` and `made_by`.
    """

    name = models.SlugField(max_length=100, unique=True)
    split = models.TextField(blank=True)
    seed = models.PositiveBigIntegerField(default=0)
    system_digest = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    asked_digest = models.CharField(
        max_length=64, blank=True, help_text="Of the images asked about, and of their mentions"
    )
    remarks = models.JSONField(default=list, blank=True)
    image_count = models.PositiveIntegerField(default=0)
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    corpus_id: int

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """What a role must be granted for to act on it."""
        return Scope(self.corpus_id)
