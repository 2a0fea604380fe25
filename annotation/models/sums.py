"""What a campaign's answers added up to, kept so that nobody adds millions of them up again."""

from django.db import models

from annotation.models.work import Campaign


class CampaignSums(models.Model):
    """What all answers of a campaign that ended at `until` or before came to, as of its `revision`.

    Answers that ended later are added when it is read (`selectors.campaign.ledger`). `counted_at`: when all
    were last added up, not the newest alone. A row may be deleted: the sums are then counted again.
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
