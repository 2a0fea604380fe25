"""Tables made from runs: batches of requested judgments, and reports."""

from django.db import models
from django.db.models import Q

from evaluation.models.judged import JudgmentSet, PackedQueries, QrelsSnapshot
from evaluation.models.ranked import Run
from evaluation.models.stored import ArchivableRow, StoredRow


class Batch(StoredRow, ArchivableRow):
    """A batch of requested judgments: the pairs pooled from runs, and the campaign that asks about them.

    `digest` covers what the pool was made from (corpus, runs, depth, filter, judges, seed), and `numbers` the
    resulting counts. `reused` names judgments from files whose answers were not asked for again. `judgments`
    is the newest set collected from it; `collections` counts how often that changed.
    """

    published = models.BooleanField(default=True)  # it is written at once
    campaign = models.OneToOneField("annotation.Campaign", on_delete=models.PROTECT, related_name="batch")
    depth = models.PositiveIntegerField(help_text="How many items of each ranking were pooled")
    threshold = models.FloatField(null=True, help_text="Of BLEU_pre; none: nothing was filtered out")
    judges = models.PositiveSmallIntegerField(help_text="How many answers a pair wants")
    seed = models.PositiveIntegerField()
    reused = models.JSONField(default=list, blank=True)
    numbers = models.JSONField(default=dict)
    strategy = models.CharField(
        max_length=40,
        blank=True,
        help_text="How the next round is chosen; empty: everything is asked at once",
    )
    rounds = models.JSONField(
        default=dict, blank=True, help_text="What was asked in rounds, and why there are no more"
    )
    judgments = models.ForeignKey(
        JudgmentSet, on_delete=models.PROTECT, null=True, blank=True, related_name="batches"
    )
    collections = models.PositiveIntegerField(default=0)

    class Meta(StoredRow.Meta):
        verbose_name_plural = "batches"
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(depth__gte=1), name="batch_pools_something"),
            models.CheckConstraint(condition=Q(judges__gte=1), name="batch_has_judges"),
        ]


class BatchRun(models.Model):
    """A run in the pool of a batch; `digest` is that of its rankings at that time."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="runs", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="batches")
    position = models.PositiveIntegerField(help_text="Order in which it was named, from 0")
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ["batch", "position"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "run"], name="run_once_per_batch"),
            models.UniqueConstraint(fields=["batch", "position"], name="batch_run_position_once"),
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} of batch {self.batch_id}"


class BatchQueries(PackedQueries):
    """The queries of a batch's runs when it was launched."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="queries", db_index=False)

    class Meta:
        verbose_name_plural = "batch queries"
        constraints = [models.UniqueConstraint(fields=["batch", "asks"], name="queries_once_per_batch")]

    def __str__(self) -> str:
        return f"{self.count} {self.asks}s of batch {self.batch_id}"


class Report(StoredRow, ArchivableRow):
    """A report that was built: its files and inputs.

    Without `qrels` it is of the original pairs. Its files are in the folder `reports/NAME` of DATA_DIR;
    `files` maps each to its SHA-256. `inputs` is everything that it was made from, and `digest` covers that.
    """

    published = models.BooleanField(default=True)  # it is written at once
    qrels = models.ForeignKey(
        QrelsSnapshot, on_delete=models.PROTECT, null=True, blank=True, related_name="reports"
    )
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, null=True, blank=True, related_name="reports")
    inputs = models.JSONField()
    files = models.JSONField()
    built_at = models.DateTimeField(auto_now=True)


class ReportRun(models.Model):
    """A run of a report; `digest` is that of its rankings at that time."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="runs", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="reports")
    position = models.PositiveIntegerField(help_text="Order in which it was named, from 0")
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ["report", "position"]
        constraints = [
            models.UniqueConstraint(fields=["report", "run"], name="run_once_per_report"),
            models.UniqueConstraint(fields=["report", "position"], name="report_run_position_once"),
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} of report {self.report_id}"
