"""Drafts: campaigns that somebody is about to open, as far as they have got."""

from django.db import models

from annotation.models.corpus import Corpus
from annotation.models.crowd import Account
from annotation.models.work import Campaign


class CampaignDraft(models.Model):
    """What somebody typed into the steps of opening a campaign; theirs alone, until it is opened or thrown
    away.

    `fields` holds what was typed, by field, right or wrong; what was never touched is not in it. `settings`
    are those that were imported, or come from the campaign `like`, in the form of a campaign's; empty where
    everything is at its default. `marks` are control items that its owner answered, each with the corpus
    that it is of. `sample` is what the estimate has counted so far.
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
