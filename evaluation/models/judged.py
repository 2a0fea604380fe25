"""Tables of judgments: answers about pairs, and relevance frozen from them.

Pairs reference the images and captions of a corpus. A query is an image, or a keyword if the source has
keywords.
"""

from django.db import models
from django.db.models import Q

from evaluation.models.stored import StoredRow

#: The query is an image or a keyword, exactly one of both.
ONE_QUERY = Q(image__isnull=False, keyword="") | (Q(image__isnull=True) & ~Q(keyword=""))


class PackedQueries(models.Model):
    """The queries of one kind: row ids, ascending, as little-endian int64.

    Packed like rankings: 155,000 captions take 1.2 MB. Without a row, the queries are unknown.
    """

    asks = models.CharField(max_length=10, choices=[("image", "image"), ("caption", "caption")])
    ids = models.BinaryField()
    count = models.PositiveIntegerField()

    class Meta:
        abstract = True


class JudgmentSet(StoredRow):
    """A set of judgments about one corpus; `digest` covers its pairs in their order.

    `scale` is parsed by `scales.scale_named`. `skipped` pairs of the file are about images or captions that
    the corpus lacks.

    For a batch, `counted` maps it and earlier ones to the judges whose answers from before their
    reinstatement are included, as somebody requested by name.
    """

    corpus = models.ForeignKey(
        "annotation.Corpus", on_delete=models.PROTECT, related_name="judgmentsets", db_index=False
    )
    name = models.SlugField(max_length=100)
    format = models.CharField(max_length=40)
    source = models.TextField(help_text="Where it was read from")
    pair_count = models.PositiveIntegerField(default=0)
    answer_count = models.PositiveIntegerField(default=0)
    scale = models.CharField(
        max_length=40, blank=True, help_text="votes, or the least and the greatest grade"
    )
    skipped = models.PositiveIntegerField(default=0, help_text="Pairs of the file that the corpus lacks")
    counted = models.JSONField(
        default=dict,
        blank=True,
        help_text="By batch, whose answers from before they were reinstated count, asked for by name",
    )
    simulated = models.BooleanField(default=False, help_text="Whether simulated workers gave the answers")

    class Meta(StoredRow.Meta):
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="judgment_set_name_once_per_corpus"),
        ]


class PairAnswers(models.Model):
    """All answers of a set about one pair, as in the source.

    `grades` is a list of numbers; `judges` names who gave each, or is empty where the source does not say.
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


class QrelsSnapshot(StoredRow):
    """One version of named qrels: frozen from a set of judgments under a rule, by a protocol, or imported.

    A protocol judges nothing: it selects which captions of which images are used, and each image's own are
    its originals; `pool` describes it, and items that are not among the rows are not used. The same holds
    where judgments were frozen for a `subset` of images. Imported qrels have a `source`, and `asks` is the
    kind of rankings they are for: of images, of captions, or, where it is empty, both. `digest` is that of
    `phrasebox.relevance.qrels.Qrels`: over settings and rows, not over name and version.

    `queries` (`QrelsQueries`) are the queries, whatever was judged. Of a batch's judgments, `pairs_judged` of
    `pairs_selected` had as many answers as the batch requested.
    """

    judgments = models.ForeignKey(JudgmentSet, on_delete=models.PROTECT, null=True, related_name="qrels")
    pool = models.CharField(
        max_length=200, blank=True, help_text="The protocol and its split; empty where judgments were frozen"
    )
    subset = models.CharField(
        max_length=200, blank=True, help_text="Which images judgments were frozen for; empty: all"
    )
    images = models.JSONField(default=list, blank=True, help_text="The ids of these images")
    source = models.TextField(blank=True, help_text="The file that they were imported from")
    source_digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of that file")
    asks = models.CharField(
        max_length=10,
        blank=True,
        choices=[("image", "image"), ("caption", "caption")],
        help_text="Empty: both",
    )
    pairs_selected = models.PositiveIntegerField(null=True, help_text="Pairs that the batch had asked about")
    pairs_judged = models.PositiveIntegerField(null=True, help_text="Of them, those with enough answers")
    name = models.SlugField(max_length=100)
    version = models.PositiveIntegerField()
    rule = models.CharField(max_length=100)
    originals = models.BooleanField(help_text="Whether originals are relevant unjudged")
    row_count = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "qrels snapshots"
        ordering = ["name", "version"]
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="qrels_version_once_per_name"),
            models.CheckConstraint(condition=Q(version__gte=1), name="qrels_versions_from_one"),
            models.CheckConstraint(
                condition=Q(judgments__isnull=False, pool="", source="")
                | (Q(judgments__isnull=True, source="") & ~Q(pool=""))
                | (Q(judgments__isnull=True, pool="") & ~Q(source="")),
                name="qrels_from_judgments_protocol_or_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"

    @property
    def versioned(self) -> str:
        """Its name with its version, as requests use it."""
        return f"{self.name}:{self.version}"


class QrelsQueries(PackedQueries):
    """The queries of a snapshot."""

    snapshot = models.ForeignKey(
        QrelsSnapshot, on_delete=models.CASCADE, related_name="queries", db_index=False
    )

    class Meta:
        verbose_name_plural = "qrels queries"
        constraints = [models.UniqueConstraint(fields=["snapshot", "asks"], name="queries_once_per_snapshot")]

    def __str__(self) -> str:
        return f"{self.count} {self.asks}s of qrels {self.snapshot_id}"


class QrelsRow(models.Model):
    """One pair of a snapshot; `judged` is false for an original that nobody judged, and for a pair that was
    only pooled."""

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
        ]

    def __str__(self) -> str:
        return f"{self.image_id or self.keyword} with {self.caption_id}: {self.relevance}"
