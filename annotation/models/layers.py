"""Layers: mentions, chains and boxes over a corpus, from an import or from a campaign.

`annotation.datasets.layer_rows` is their only writer, and `datasets.contents.error_samples` that of samples
of their mentions. A foreign key at the start of a unique constraint has no index of its own: it uses the
constraint's.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from annotation.models.corpus import Caption, Corpus, Image
from annotation.models.crowd import Account


class Layer(models.Model):
    """A set of mentions, chains and boxes. Invisible until `published`."""

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="layers", db_index=False)
    name = models.SlugField(max_length=100)
    source = models.CharField(max_length=40, help_text="import, gold, campaign, simulation")
    settings = models.JSONField(default=dict, blank=True, help_text="The protocol's settings, frozen")
    cost = models.JSONField(default=dict, blank=True, help_text="Judgments by question and the like")
    published = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=0, db_default=0, help_text="Rises whenever its rows change")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["corpus", "name"], name="layer_name_once_per_corpus"),
        ]

    def __str__(self) -> str:
        return f"{self.corpus}/{self.name}"


def stored_phrases(lines: str) -> tuple[str, ...]:
    """Return the phrases in the column `Chain.phrases`."""
    return tuple(lines.split("\n")) if lines else ()


class LayerImage(models.Model):
    """Marks an image as covered by a layer.

    It distinguishes a covered image without mentions from one that is not covered: the first counts in the
    layer's figures, the second does not. `version` is the `OpenImage.version` from which a campaign's part
    was written. `unrelated` are the numbers of captions that do not describe the picture, as its reviewers
    said.
    """

    layer = models.ForeignKey(Layer, on_delete=models.CASCADE, related_name="covers", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    version = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Of the campaign's image that it shows; 0 of an import"
    )
    unrelated = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["layer", "image"], name="image_once_per_layer"),
        ]

    def __str__(self) -> str:
        return f"{self.layer_id} covers {self.image_id}"


class Chain(models.Model):
    """Coreferent mentions. Closed chains without a box have the two flags of the Entities notation.

    `position` is the chain's index among all chains of its image; unused indices are those of the mentions
    without chain. `object_position` is the index of the chain's box-less object among its image's objects;
    null if it has none.
    """

    layer = models.ForeignKey(Layer, on_delete=models.CASCADE, related_name="chains", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=40, help_text="The id it is printed with")
    label = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="Its class in another tool"
    )
    phrases = models.TextField(
        blank=True, default="", db_default="", help_text="Phrases that stand in no caption, a line each"
    )
    position = models.PositiveIntegerField(help_text="Place among its image's chains, from 0")
    stage = models.CharField(max_length=40, blank=True, help_text="Where the box loop left it")
    scene = models.BooleanField(default=False)
    nobndbox = models.BooleanField(default=False)
    object_position = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["layer", "image", "key"], name="chain_key_once_per_image"),
            models.CheckConstraint(
                condition=Q(object_position__isnull=False) | Q(scene=False, nobndbox=False),
                name="chain_flags_belong_to_an_object",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def phrase_lines(self) -> tuple[str, ...]:
        """Its phrases."""
        return stored_phrases(self.phrases)


class Mention(models.Model):
    """A noun phrase: words `start` to `end` (exclusive) of a caption. Without chain: not visual."""

    layer = models.ForeignKey(Layer, on_delete=models.CASCADE, related_name="mentions", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    start = models.PositiveSmallIntegerField()
    end = models.PositiveSmallIntegerField()
    categories = models.CharField(max_length=120, help_text="Separated by slashes, in the order they came")
    chain = models.ForeignKey(Chain, on_delete=models.CASCADE, null=True, blank=True, related_name="mentions")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["layer", "caption", "start", "end"], name="mention_span_once_per_caption"
            ),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="mention_is_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


class Box(models.Model):
    """A rectangle, 1-based inclusive pixels, depicting at least one chain. `by_model`: a model annotator drew
    it."""

    layer = models.ForeignKey(Layer, on_delete=models.CASCADE, related_name="boxes", db_index=False)
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    position = models.PositiveIntegerField(help_text="Order among the image's objects, from 0")
    # Columns have other names: xmin and xmax are PostgreSQL's own in every table.
    xmin = models.PositiveIntegerField(db_column="x_min")
    ymin = models.PositiveIntegerField(db_column="y_min")
    xmax = models.PositiveIntegerField(db_column="x_max")
    ymax = models.PositiveIntegerField(db_column="y_max")
    by_model = models.BooleanField(default=False, db_default=False)
    chains: models.ManyToManyField[Chain, BoxChain] = models.ManyToManyField(
        Chain, through="BoxChain", related_name="boxes"
    )

    class Meta:
        verbose_name_plural = "boxes"
        constraints = [
            models.UniqueConstraint(
                fields=["layer", "image", "position"], name="box_position_once_per_image"
            ),
            models.CheckConstraint(
                condition=Q(xmin__gte=1, ymin__gte=1, xmax__gte=F("xmin"), ymax__gte=F("ymin")),
                name="box_corners_in_order",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.xmin},{self.ymin},{self.xmax},{self.ymax}"


class BoxChain(models.Model):
    """The chains that a box depicts, in order."""

    box = models.ForeignKey(Box, on_delete=models.CASCADE, related_name="links", db_index=False)
    chain = models.ForeignKey(Chain, on_delete=models.CASCADE, related_name="links")
    position = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["box", "chain"], name="chain_once_per_box"),
            models.UniqueConstraint(fields=["box", "position"], name="position_once_per_box"),
        ]

    def __str__(self) -> str:
        return f"{self.box_id} depicts {self.chain_id}"


class ErrorSample(models.Model):
    """Mentions of a layer that were drawn with a seed, for people to look for errors."""

    layer = models.ForeignKey(Layer, on_delete=models.CASCADE, related_name="error_samples")
    seed = models.PositiveIntegerField()
    layer_version = models.PositiveIntegerField(help_text="Of the layer, when it was drawn")
    drawn_by = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    drawn_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"error sample {self.pk} of layer {self.layer_id}"


class SampledMention(models.Model):
    """A mention of a sample, by its span, since the layer's rows may be written again; and the verdicts on
    its chunk, its chain and its boxes: "right" or the kind of error, "" before somebody looked.

    `visual`: it had a chain when it was drawn; otherwise boxes have no verdict.
    """

    sample = models.ForeignKey(ErrorSample, on_delete=models.CASCADE, related_name="mentions", db_index=False)
    position = models.PositiveSmallIntegerField(help_text="From 1")
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    caption = models.ForeignKey(Caption, on_delete=models.CASCADE, related_name="+")
    start = models.PositiveSmallIntegerField()
    end = models.PositiveSmallIntegerField()
    visual = models.BooleanField()
    chunk = models.CharField(max_length=20, blank=True)
    chain = models.CharField(max_length=20, blank=True)
    boxes = models.CharField(max_length=20, blank=True)
    judged_by = models.ForeignKey(Account, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    judged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sample", "position"], name="sampled_mention_position_once"),
        ]

    def __str__(self) -> str:
        return f"mention {self.position} of error sample {self.sample_id}"
