"""Tables of systems, runs and rankings."""

from django.db import models
from django.db.models import Q

from evaluation.models.stored import ArchivableRow, StoredRow, SystemOutput


class System(StoredRow, ArchivableRow):
    """A system that ranks, and its origin: trained here by a recipe, or added from elsewhere.

    `origin` is one of `evaluation.origins`. `settings` are all settings it was made with; `sources` maps each
    file that was read to its SHA-256, `versions` each package to its version. `digest` is the SHA-256 of the
    arrays under DATA_DIR/systems, and empty where only runs are stored. `trained_on` is its training as
    declared by the person who added it.
    """

    origin = models.CharField(max_length=40)
    recipe = models.CharField(max_length=100, blank=True, help_text="By which it was trained")
    settings = models.JSONField(default=dict, blank=True)
    seed = models.PositiveBigIntegerField(null=True, blank=True)
    sources = models.JSONField(default=dict, blank=True)
    versions = models.JSONField(default=dict, blank=True)
    trained_on = models.TextField(blank=True, help_text="As the person who added it declares")
    job = models.ForeignKey(
        "annotation.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_by = models.ForeignKey(
        "annotation.Account", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    published = models.BooleanField(default=True)  # it is written at once


class SeenImages(models.Model):
    """The images that a system was trained on, and those on which its settings were chosen; unknown for
    systems without a row.

    Both are packed hashes, as in `evaluation.comparison.provenance`: ascending little-endian uint64.
    `unknown` names parts of the system whose images are unknown; `declared` and `notes` are sentences.
    """

    system = models.OneToOneField(System, on_delete=models.CASCADE, related_name="seen")
    learned = models.BinaryField()
    validated = models.BinaryField()
    unknown = models.JSONField(default=list, blank=True)
    declared = models.JSONField(default=list, blank=True)
    notes = models.JSONField(default=list, blank=True)

    def __str__(self) -> str:
        return f"images that system {self.system_id} has seen"


class Run(SystemOutput, ArchivableRow):
    """The rankings of one system on one corpus, in one direction.

    `source_digest` is the SHA-256 of the file it came from, `digest` covers its rankings. `depth` is the
    largest number of items stored per ranking; 0 is all. `made_by` is the system where it is registered, and
    `system` its name in the run. `split`, `protocol`, `seed` and `system_digest` say how one of ours was
    made, and with which state of the system. `remarks` are sentences on that.
    """

    ANNOTATION = "annotation"
    SEARCH = "search"

    direction = models.CharField(max_length=20, help_text="annotation: images ask; search: captions ask")
    system = models.CharField(max_length=200, blank=True, help_text="The tag by which its maker calls it")
    protocol = models.CharField(max_length=40, blank=True)
    seed = models.PositiveBigIntegerField(null=True, blank=True)
    format = models.CharField(max_length=40)
    source = models.TextField(help_text="Where it was read from")
    source_digest = models.CharField(max_length=64, blank=True)
    depth = models.PositiveIntegerField(default=0)
    query_count = models.PositiveIntegerField(default=0)
    entry_count = models.PositiveBigIntegerField(default=0)


class Ranking(models.Model):
    """One query's ranking: row ids, best first, as little-endian int64, and as many scores as float32.

    Packed, since a run of 5,000 queries at depth 1,000 has five million entries. The ids are those of
    captions where the query is an image, of images where it is a caption.
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
