"""Rows: judgments made elsewhere, frozen qrels, runs. Written by `services`, then never edited.

Pairs reference the images and captions of a corpus. What is asked about is an image, or a keyword
where the source has keywords. A foreign key that opens a unique constraint has no index of its own:
the constraint's serves. Whatever is under way stays invisible until `published` is set, by one UPDATE.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

#: Who asks: an image, or a keyword. Exactly one is there.
ONE_QUERY = Q(image__isnull=False, keyword="") | (Q(image__isnull=True) & ~Q(keyword=""))


class JudgmentSet(models.Model):
    """A file of judgments about one corpus; `digest` is over its pairs in their order."""

    corpus = models.ForeignKey(
        "annotation.Corpus", on_delete=models.PROTECT, related_name="judgment_sets", db_index=False
    )
    name = models.SlugField(max_length=100)
    format = models.CharField(max_length=40)
    source = models.TextField(help_text="Where it was read from")
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 over all pairs read")
    pair_count = models.PositiveIntegerField(default=0)
    answer_count = models.PositiveIntegerField(default=0)
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="judgment_set_name_once_per_corpus"),
        ]

    def __str__(self) -> str:
        return self.name


class PairAnswers(models.Model):
    """All answers of a set about one pair, as the source has them.

    `grades` is a list of numbers; `judges` names who gave each, or is empty where nobody says.
    """

    judgments = models.ForeignKey(JudgmentSet, on_delete=models.CASCADE, related_name="pairs", db_index=False)
    position = models.PositiveIntegerField(help_text="Order in the source, from 0")
    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, null=True, related_name="+")
    keyword = models.CharField(max_length=200, blank=True)
    caption = models.ForeignKey("annotation.Caption", on_delete=models.PROTECT, related_name="+")
    grades = models.JSONField()
    judges = models.JSONField(default=list, blank=True)

    class Meta:
        verbose_name_plural = "pair answers"
        constraints = [
            models.UniqueConstraint(fields=["judgments", "position"], name="pair_position_once_per_set"),
            models.UniqueConstraint(
                fields=["judgments", "image", "caption"],
                condition=Q(image__isnull=False),
                name="image_pair_once_per_set",
            ),
            models.UniqueConstraint(
                fields=["judgments", "keyword", "caption"],
                condition=Q(image__isnull=True),
                name="keyword_pair_once_per_set",
            ),
            models.CheckConstraint(condition=ONE_QUERY, name="pair_asks_of_image_or_keyword"),
        ]

    def __str__(self) -> str:
        return f"{self.image_id or self.keyword} with {self.caption_id}"


class QrelsSnapshot(models.Model):
    """One version of named qrels: relevance frozen from a set of judgments under a rule, or by a protocol.

    A protocol judges nothing: it says which captions of which images take part, and each image's own are
    its originals; `pool` describes it, and what is not among the rows does not take part. `digest` is
    that of `evaluation.qrels.Qrels`: over settings and rows, not over name and version.
    """

    corpus = models.ForeignKey("annotation.Corpus", on_delete=models.PROTECT, related_name="qrels")
    judgments = models.ForeignKey(JudgmentSet, on_delete=models.PROTECT, null=True, related_name="qrels")
    pool = models.CharField(
        max_length=200, blank=True, help_text="The protocol and its split; empty where judgments were frozen"
    )
    name = models.SlugField(max_length=100)
    version = models.PositiveIntegerField()
    rule = models.CharField(max_length=40)
    originals = models.BooleanField(help_text="Whether originals are relevant unjudged")
    digest = models.CharField(max_length=64)
    row_count = models.PositiveIntegerField()
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "qrels snapshots"
        ordering = ["name", "version"]
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="qrels_version_once_per_name"),
            models.CheckConstraint(condition=Q(version__gte=1), name="qrels_versions_from_one"),
            models.CheckConstraint(
                condition=Q(judgments__isnull=False, pool="") | (Q(judgments__isnull=True) & ~Q(pool="")),
                name="qrels_from_judgments_or_protocol",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"


class QrelsRow(models.Model):
    """One pair of a snapshot; `judged` is false for an original that nobody judged."""

    snapshot = models.ForeignKey(QrelsSnapshot, on_delete=models.CASCADE, related_name="rows", db_index=False)
    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, null=True, related_name="+")
    keyword = models.CharField(max_length=200, blank=True)
    caption = models.ForeignKey("annotation.Caption", on_delete=models.PROTECT, related_name="+")
    relevance = models.PositiveSmallIntegerField()
    judged = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["snapshot", "image", "caption"],
                condition=Q(image__isnull=False),
                name="image_pair_once_per_snapshot",
            ),
            models.UniqueConstraint(
                fields=["snapshot", "keyword", "caption"],
                condition=Q(image__isnull=True),
                name="keyword_pair_once_per_snapshot",
            ),
            models.CheckConstraint(condition=ONE_QUERY, name="qrel_asks_of_image_or_keyword"),
            models.CheckConstraint(
                condition=Q(judged=True) | Q(relevance__gt=0), name="unjudged_qrel_is_an_original"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.image_id or self.keyword} with {self.caption_id}: {self.relevance}"


class System(models.Model):
    """What ranks, and where it comes from: trained here by a recipe, or brought by somebody.

    `origin` is one of `evaluation.origins`. `settings` is what it was made with, whole; `sources` maps each
    file that was read to its SHA-256, `versions` each package to its version. `digest` is the SHA-256 of
    the arrays kept under DATA_DIR/systems, and empty where nothing is kept but runs.
    """

    corpus = models.ForeignKey("annotation.Corpus", on_delete=models.PROTECT, related_name="systems")
    name = models.SlugField(max_length=100, unique=True)
    origin = models.CharField(max_length=40)
    recipe = models.CharField(max_length=100, blank=True, help_text="By which it was trained")
    settings = models.JSONField(default=dict, blank=True)
    seed = models.PositiveBigIntegerField(null=True, blank=True)
    sources = models.JSONField(default=dict, blank=True)
    versions = models.JSONField(default=dict, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    job = models.ForeignKey(
        "annotation.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_by = models.ForeignKey(
        "annotation.Account", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """The rankings that one system made of one corpus, in one direction.

    `source_digest` is the SHA-256 of the file it came from, `digest` that over its rankings. `depth`
    is how many items of each ranking were kept at most; 0 is all. `made_by` is the system where it is
    registered, and `system` what its maker calls it. `split`, `protocol`, `seed` and `system_digest` say
    how one of ours was made, and with which state of the system.
    """

    ANNOTATION = "annotation"
    SEARCH = "search"

    corpus = models.ForeignKey("annotation.Corpus", on_delete=models.PROTECT, related_name="runs")
    name = models.SlugField(max_length=100, unique=True)
    direction = models.CharField(max_length=20, help_text="annotation: images ask; search: captions ask")
    system = models.CharField(max_length=200, blank=True, help_text="The tag by which its maker calls it")
    made_by = models.ForeignKey(System, on_delete=models.PROTECT, null=True, blank=True, related_name="runs")
    split = models.TextField(blank=True)
    protocol = models.CharField(max_length=40, blank=True)
    seed = models.PositiveBigIntegerField(null=True, blank=True)
    system_digest = models.CharField(max_length=64, blank=True)
    format = models.CharField(max_length=40)
    source = models.TextField(help_text="Where it was read from")
    source_digest = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    depth = models.PositiveIntegerField(default=0)
    query_count = models.PositiveIntegerField(default=0)
    entry_count = models.PositiveBigIntegerField(default=0)
    published = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Ranking(models.Model):
    """One query's ranking: ids of rows, best first, as little-endian int64, and as many scores as float32.

    Packed, since a run of 5,000 queries at depth 1,000 is five million entries. The ids are those of
    captions where an image asks, of images where a caption does.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="rankings", db_index=False)
    position = models.PositiveIntegerField(help_text="Order in the source, from 0")
    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, null=True, related_name="+")
    caption = models.ForeignKey("annotation.Caption", on_delete=models.PROTECT, null=True, related_name="+")
    items = models.BinaryField()
    scores = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "position"], name="ranking_position_once_per_run"),
            models.UniqueConstraint(
                fields=["run", "image"], condition=Q(image__isnull=False), name="image_asks_once_per_run"
            ),
            models.UniqueConstraint(
                fields=["run", "caption"],
                condition=Q(caption__isnull=False),
                name="caption_asks_once_per_run",
            ),
            models.CheckConstraint(
                condition=Q(image__isnull=False, caption__isnull=True)
                | Q(image__isnull=True, caption__isnull=False),
                name="ranking_asks_of_image_or_caption",
            ),
        ]

    def __str__(self) -> str:
        return f"ranking {self.position} of run {self.run_id}"


class Batch(models.Model):
    """Judgments wanted: what was pooled from runs, and the campaign that asks about it.

    `digest` is over what the pool was made from (corpus, runs, depth, filter, judges, seed), and
    `numbers` what it came to. `reused` names judgments from files whose answers were not asked for
    again. `judgments` is the newest set collected from it.
    """

    corpus = models.ForeignKey("annotation.Corpus", on_delete=models.PROTECT, related_name="batches")
    name = models.SlugField(max_length=100, unique=True)
    campaign = models.OneToOneField("annotation.Campaign", on_delete=models.PROTECT, related_name="batch")
    depth = models.PositiveIntegerField(help_text="How many items of each ranking were pooled")
    threshold = models.FloatField(null=True, help_text="Of BLEU_pre; none: nothing was filtered out")
    judges = models.PositiveSmallIntegerField(help_text="How many answers a pair wants")
    seed = models.PositiveIntegerField()
    reused = models.JSONField(default=list, blank=True)
    digest = models.CharField(max_length=64)
    numbers = models.JSONField(default=dict)
    strategy = models.CharField(
        max_length=40, blank=True, help_text="How the next wave is chosen; empty: everything is asked at once"
    )
    waves = models.JSONField(
        default=dict, blank=True, help_text="What was asked in waves, and why there are no more"
    )
    judgments = models.ForeignKey(
        JudgmentSet, on_delete=models.PROTECT, null=True, blank=True, related_name="batches"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "batches"
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(depth__gte=1), name="batch_pools_something"),
            models.CheckConstraint(condition=Q(judges__gte=1), name="batch_has_judges"),
        ]

    def __str__(self) -> str:
        return self.name


class BatchRun(models.Model):
    """A run that a batch pooled; `digest` is that of its rankings then."""

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


class Report(models.Model):
    """A report that was built: which files it has, and from what.

    Its files stand in the folder `reports/NAME` of DATA_DIR; `files` maps each to its SHA-256. `inputs` is
    all that it was made from, and `digest` is over that.
    """

    corpus = models.ForeignKey("annotation.Corpus", on_delete=models.PROTECT, related_name="reports")
    name = models.SlugField(max_length=100, unique=True)
    qrels = models.ForeignKey(QrelsSnapshot, on_delete=models.PROTECT, related_name="reports")
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, null=True, blank=True, related_name="reports")
    inputs = models.JSONField()
    digest = models.CharField(max_length=64)
    files = models.JSONField()
    built_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ReportRun(models.Model):
    """A run that a report is about; `digest` is that of its rankings then."""

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
