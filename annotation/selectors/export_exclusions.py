"""What an export lacks, in sentences: chains that no format contains, and what its own format cannot
express."""

from collections.abc import Mapping

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import ngettext_lazy

from annotation.models import Campaign, Chain, Image, Layer, LayerImage, OpenImage, PhraseMarks
from annotation.protocol.boxes import EXCLUDED
from annotation.protocol.state import CLOSED_STAGES

#: What no format expresses of a layer, and of marks, besides the counts of `formats.base`.
EXCLUDED_CHAINS, OPEN_CHAINS, MARKED = "excluded_chains", "open_chains", "marked"
#: What an export lacks, by the words of `Written.excluded`.
_LACKS = {
    "layers": ngettext_lazy(
        "Not in the files: the mentions, chains and boxes of %(n)d image.",
        "Not in the files: the mentions, chains and boxes of %(n)d images.",
        "n",
    ),
    "labels": ngettext_lazy(
        "Not in the files: the label and the phrases that came with %(n)d chain from another tool.",
        "Not in the files: the labels and phrases that came with %(n)d chains from another tool.",
        "n",
    ),
    "captions": ngettext_lazy("Not in the files: %(n)d caption.", "Not in the files: %(n)d captions.", "n"),
    "mentions": ngettext_lazy(
        "Not in the files: %(n)d mention, but the category of its chain.",
        "Not in the files: %(n)d mentions, but the categories of their chains.",
        "n",
    ),
    "boxless": ngettext_lazy(
        "Not in the files: %(n)d chain without a box.", "Not in the files: %(n)d chains without a box.", "n"
    ),
    "model_boxes": ngettext_lazy(
        "Not in the files: that a model annotator drew %(n)d box.",
        "Not in the files: that a model annotator drew %(n)d boxes.",
        "n",
    ),
    EXCLUDED_CHAINS: ngettext_lazy(
        "Not in the files: %(n)d chain that a reviewer excluded; its mentions are plain words.",
        "Not in the files: %(n)d chains that a reviewer excluded; their mentions are plain words.",
        "n",
    ),
    OPEN_CHAINS: ngettext_lazy(
        "Not in the files: that %(n)d chain is still open.",
        "Not in the files: that %(n)d chains are still open.",
        "n",
    ),
    MARKED: ngettext_lazy(
        "Not in the files: the phrases that somebody marked in %(n)d image.",
        "Not in the files: the phrases that somebody marked in %(n)d images.",
        "n",
    ),
    "splits": ngettext_lazy(
        "Not in the files: the split of %(n)d image.", "Not in the files: the splits of %(n)d images.", "n"
    ),
    "sizes": ngettext_lazy(
        "Not in the files: the size of %(n)d image.", "Not in the files: the sizes of %(n)d images.", "n"
    ),
    "filenames": ngettext_lazy(
        "Not in the files: the file name of %(n)d image, as it was imported.",
        "Not in the files: the file names of %(n)d images, as they were imported.",
        "n",
    ),
    "external_ids": ngettext_lazy(
        "Not in the files: the id that the source gave %(n)d image.",
        "Not in the files: the ids that the source gave %(n)d images.",
        "n",
    ),
    "order": ngettext_lazy(
        "Not in the files: the place of %(n)d image in the order of the corpus.",
        "Not in the files: the places of %(n)d images in the order of the corpus.",
        "n",
    ),
    "texts": ngettext_lazy(
        "Not in the files: the text of %(n)d caption, as it was typed.",
        "Not in the files: the texts of %(n)d captions, as they were typed.",
        "n",
    ),
    "words": ngettext_lazy(
        "Not in the files: how %(n)d caption is cut into words.",
        "Not in the files: how %(n)d captions are cut into words.",
        "n",
    ),
    "caption_ids": ngettext_lazy(
        "Not in the files: the id that the source gave %(n)d caption.",
        "Not in the files: the ids that the source gave %(n)d captions.",
        "n",
    ),
    "unrelated": ngettext_lazy(
        "Not in the files: that %(n)d caption does not describe its image.",
        "Not in the files: that %(n)d captions do not describe their images.",
        "n",
    ),
}


def missing_from_export(excluded: Mapping[str, int]) -> list[str]:
    """Return what an export lacks, one sentence each: first of the layer, then of images, then of
    captions."""
    return [message % {"n": excluded[word]} for word, message in _LACKS.items() if excluded.get(word)]


def unsaid_by_every_format(
    layer: Layer | None, images: QuerySet[Image], made_by: Campaign | None = None
) -> dict[str, int]:
    """Return how many chains of these images are omitted as excluded, how many are exported although open,
    and how many images have marked phrases that the layer does not contain.

    `made_by` is the campaign that the layer comes from: such a layer has no rows of excluded chains, so they
    are counted among the campaign's images. Phrases of an image that a layer covers are its mentions.
    """
    marked = PhraseMarks.objects.filter(image__in=images)
    if layer is None:
        return {MARKED: marked.count()}
    covered = LayerImage.objects.filter(layer=layer, image=OuterRef("image"))
    chains = Chain.objects.filter(layer=layer, image__in=images)
    excluded = chains.filter(stage=EXCLUDED).count()
    if made_by is not None:
        opened = OpenImage.objects.filter(campaign=made_by, image__in=images, chain_stages__has_key=EXCLUDED)
        excluded += sum(stages[EXCLUDED] for stages in opened.values_list("chain_stages", flat=True))
    return {
        EXCLUDED_CHAINS: excluded,
        OPEN_CHAINS: chains.exclude(stage__in=("", *CLOSED_STAGES)).count(),
        MARKED: marked.filter(~Exists(covered)).count(),
    }
