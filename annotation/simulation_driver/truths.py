"""Sources of simulated workers' answers: an image's gold, or a stand-in if there is none."""

from collections import OrderedDict
from threading import Lock

from annotation.models import Campaign, Image, Layer, OpenImage
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.contents import corners, mention_from
from annotation.protocol.gold import Truth
from annotation.protocol.mentions import mentions_of
from annotation.protocol.terms import ImageRecord, LayerRecord, Mention, representative
from annotation.selectors.records import stream_records
from annotation.simulation.judging import CrowdKnowledge
from annotation.simulation.standin import stand_in
from annotation.task_types.displayed import name_of

#: Number of images read at a time. Tasks are in the order of images, so that neighbours are needed next.
_PAGE = 50
#: Number of cached pages: a crowd works on few images at a time.
CACHED_PAGES = 40


def gold_of(record: ImageRecord, *, seed: int, mentions: tuple[Mention, ...] | None = None) -> LayerRecord:
    """Return an image's gold; without any, a stand-in over `mentions`, by default those of its questions."""
    if record.layer is not None:
        return record.layer
    if mentions is None:
        mentions = mentions_of(record)
    return stand_in(mentions, size=(record.width, record.height), seed=seed, image=record.id)


def truth_of(record: ImageRecord, *, seed: int, mentions: tuple[Mention, ...] | None = None) -> Truth:
    """Return the truth about an image: its gold, or a stand-in drawn by `seed`, as in `gold_of`."""
    gold = gold_of(record, seed=seed, mentions=mentions)
    return Truth(gold, image=record.id, size=(record.width, record.height))


def crowd_knowledge(campaign: Campaign, source: Layer | None) -> CrowdKnowledge:
    """Return the knowledge of a crowd that judges, writes and describes: an image's own captions, and its
    boxes in the layer `source`, if there are any."""
    images_of: dict[str, set[str]] = {}
    captions: dict[str, list[str]] = {}
    parts: dict[str, list[tuple[list[int], str]]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for record in stream_records(corpus=campaign.corpus, layer=source):
        captions[record.id] = [caption.text for caption in record.captions]
        sizes[record.id] = (record.width or 100, record.height or 100)
        for text in captions[record.id]:
            images_of.setdefault(text, set()).add(record.id)
        if record.layer is not None:
            words = {chain.id: representative(chain.mentions).tokens for chain in record.layer.chains}
            parts[record.id] = [
                (corners(thing.box), " ".join(words[thing.chains[0]]))
                for thing in record.layer.objects
                if thing.box is not None
            ]
    return CrowdKnowledge(images_of, captions, parts, sizes)


class Truths:
    """The truth about any image of a campaign's corpus, read a page at a time from the layer `source`.

    Thread-safe.
    """

    def __init__(self, campaign: Campaign, source: Layer | None, *, seed: int) -> None:
        self._campaign = campaign
        self._source = source
        self._seed = seed
        self._pages: OrderedDict[int, dict[str, Truth]] = OrderedDict()
        self._positions: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        self._named: dict[str, str] = {}
        self._lock = Lock()

    def key(self, image: int) -> str:
        """Return the key of the image with this id."""
        with self._lock:
            if image not in self._keys:
                self._read(Image.objects.values_list("position", flat=True).get(pk=image))
            return self._keys[image]

    def key_named(self, name: str) -> str:
        """Return the key of the image with this name for workers."""
        with self._lock:
            if not self._named:
                images = Image.objects.filter(corpus=self._campaign.corpus_id)
                self._named = {name_of(image): key for image, key in images.values_list("pk", "key")}
            return self._named[name]

    def of(self, key: str) -> Truth:
        """Return the truth about the image with this key. Raises CampaignError if gold does not cover it."""
        with self._lock:
            if key not in self._positions:
                images = Image.objects.filter(corpus=self._campaign.corpus_id)
                self._positions[key] = images.values_list("position", flat=True).get(key=key)
            return self._read(self._positions[key])[key]

    def _read(self, position: int) -> dict[str, Truth]:
        """Return the page of images that contains this position."""
        number = position // _PAGE
        if number in self._pages:
            self._pages.move_to_end(number)
            return self._pages[number]
        images = Image.objects.filter(
            corpus=self._campaign.corpus_id,
            position__gte=number * _PAGE,
            position__lt=(number + 1) * _PAGE,
        )
        opened = OpenImage.objects.filter(campaign=self._campaign, image__in=images)
        mentions_of = {
            key: tuple(mention_from(fields) for fields in mentions)
            for key, mentions in opened.values_list("image__key", "mentions")
        }
        page = {}
        for record in stream_records(corpus=self._campaign.corpus, layer=self._source, images=images):
            page[record.id] = truth_of(record, seed=self._seed, mentions=mentions_of.get(record.id))
            self._check(record.id, page[record.id], mentions_of.get(record.id, ()))
        for image, key, order in images.values_list("pk", "key", "position"):
            self._keys[image] = key
            self._positions[key] = order
        self._pages[number] = page
        while len(self._pages) > CACHED_PAGES:
            self._pages.popitem(last=False)
        return page

    def _check(self, image: str, truth: Truth, mentions: tuple[Mention, ...]) -> None:
        for mention in mentions:
            if mention.id not in truth.mentions:
                assert self._source is not None
                raise CampaignError(
                    f"campaign {self._campaign.name!r} asks about mention {mention.id} of image {image!r}, "
                    f"which layer {self._source.name!r} does not know; answer from another layer"
                )
