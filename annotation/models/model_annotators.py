"""Model annotators of campaigns, the boxes that they propose, and the calls of models at addresses."""

from django.db import models

from annotation.models.crowd import Account, Worker
from annotation.models.queue import OpenImage
from annotation.models.work import Campaign


class ModelAnnotator(models.Model):
    """A model annotator of a campaign. It answers as its worker; the campaign's settings limit its work
    (`model_annotator`).

    `version` is the number of trainings; `learned` is the number of finished images of the last one, None
    before the first and if its boxes come from elsewhere. `source` describes the last training data in words.
    `external`: its boxes come from a file or a model at an address, so it is never trained. Calls of that may
    cost `budget_micros` together; `spent_micros` are what they cost, and the most that running ones may.
    """

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="model_annotators", db_index=False
    )
    worker = models.OneToOneField(Worker, on_delete=models.PROTECT, related_name="model_annotator")
    name = models.SlugField(max_length=30)
    version = models.PositiveIntegerField(default=0, db_default=0)
    learned = models.PositiveIntegerField(null=True, blank=True)
    source = models.CharField(max_length=200, blank=True, default="", db_default="")
    external = models.BooleanField(default=False, db_default=False)
    budget_micros = models.BigIntegerField(default=0, db_default=0)
    spent_micros = models.BigIntegerField(default=0, db_default=0)
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "name"], name="model_annotator_once_per_campaign"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id}: {self.name}"


class ModelProposals(models.Model):
    """A model annotator's proposals in an image: {phrase: [[xmin, ymin, xmax, ymax, chance], ...]}, best
    first.

    A phrase is a mention's id; `chance` is the estimated probability of being accepted (0..1). Those of the
    model annotator's version count; a running training stores its own beside them, as the next version.
    """

    model_annotator = models.ForeignKey(
        ModelAnnotator, on_delete=models.CASCADE, related_name="proposals", db_index=False
    )
    image = models.ForeignKey(OpenImage, on_delete=models.CASCADE, related_name="proposals")
    version = models.PositiveIntegerField(help_text="Of the model annotator, when it proposed them")
    boxes = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "proposals of model annotators"
        constraints = [
            models.UniqueConstraint(
                fields=["model_annotator", "image", "version"],
                name="proposals_once_per_model_image_and_version",
            ),
        ]

    def __str__(self) -> str:
        return f"model annotator {self.model_annotator_id}, image {self.image_id}"


class ModelAddress(models.Model):
    """Where a model annotator's model answers, and how it is asked (`settings`, a
    `protocol.model_calls.ModelSettings`). Its newest one is in force; calls refer to theirs, so that what was
    asked stays known.

    `version` is that of its model annotator whose boxes come from it, None before it was asked. `seconds` is
    the longest time for an answer; at most `parallel` calls run, and `a_minute` begin in a minute.
    """

    model_annotator = models.ForeignKey(ModelAnnotator, on_delete=models.CASCADE, related_name="addresses")
    address = models.CharField(max_length=500)
    version = models.PositiveIntegerField(null=True, blank=True)
    settings = models.JSONField(default=dict)
    seconds = models.PositiveSmallIntegerField()
    parallel = models.PositiveSmallIntegerField()
    a_minute = models.PositiveIntegerField()
    created_by = models.ForeignKey(
        Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "model addresses"

    def __str__(self) -> str:
        return self.address


class ModelCall(models.Model):
    """A call of a model about `phrases` of an image, with its raw `answer`.

    `reserved_micros` is the most that it may cost, `cost_micros` what it cost: all that was reserved if that
    is unknown. `left` counts boxes of the answer that were left out, by reason.
    """

    RUNNING, ANSWERED, FAILED, UNKNOWN = "running", "answered", "failed", "unknown"

    address = models.ForeignKey(ModelAddress, on_delete=models.CASCADE, related_name="calls", db_index=False)
    image = models.ForeignKey(OpenImage, on_delete=models.CASCADE, related_name="model_calls")
    phrases = models.JSONField(default=list)
    state = models.CharField(max_length=20, default=RUNNING)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    answer = models.TextField(blank=True)
    left = models.JSONField(default=dict)
    reserved_micros = models.BigIntegerField()
    cost_micros = models.BigIntegerField()
    asked_at = models.DateTimeField(auto_now_add=True)
    seconds = models.FloatField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["address", "state"], name="model_calls_by_address")]

    def __str__(self) -> str:
        return f"call {self.pk}: {self.state}"
