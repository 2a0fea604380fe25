"""Image-caption pairs as relevance pages: six images with ten captions each.

A page of a batch has five images; the sixth, a control image, is added when the page is leased, because each
worker sees each control once. Captions come in tens, so an image's last ten are filled up with random pairs
that the filter removed: their judgments show what the filter loses.

Source: Hodosh et al. 2013, section 4.3.2 ("The crowdsourcing task", "Filtering unlikely image-caption
pairs").
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Annotated, NamedTuple

from pydantic import Field

from annotation.protocol.controls import Seed, draw_number, draw_sample, is_control_due
from annotation.protocol.setting_types import WholeFromOne, WholeNumber
from annotation.protocol.trust import WARM_UP
from annotation.protocol.trust_settings import TrustSettings
from annotation.protocol.words import gettext_noop as _
from models_core.checked_fields import check_fields

ROLE_WANTED = "wanted"
ROLE_FILLER = "filler"
ROLE_CONTROL = "control"
PAGE_ROLES = (ROLE_WANTED, ROLE_FILLER, ROLE_CONTROL)
_HODOSH = "Hodosh et al. 2013, section 4.3.2"


@dataclass(frozen=True, slots=True)
class PagingSettings:
    """The measures of a page (section 4.3.2). Raises ValueError if no image would be left for pairs."""

    images: Annotated[WholeFromOne, Field(description=_("Images on a page, control images included"))] = (
        field(default=6, metadata={"source": _HODOSH})
    )
    captions: Annotated[WholeFromOne, Field(description=_("Captions of each image on a page"))] = field(
        default=10, metadata={"source": _HODOSH}
    )
    controls: Annotated[WholeNumber, Field(description=_("Control images on a page"))] = field(
        default=1, metadata={"source": _HODOSH}
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.controls >= self.images:
            raise ValueError(
                f"controls is {self.controls}: expected fewer than the page's images, of which there are "
                f"{self.images}"
            )


class Pair(NamedTuple):
    """An image and a caption, by their ids."""

    image: str
    caption: str


class Entry(NamedTuple):
    """One checkbox of a page, and its role (one of ROLES; never shown to the worker)."""

    image: str
    caption: str
    role: str


@dataclass(frozen=True, slots=True)
class Block:
    """One image of a page with its captions: the item that trust counts."""

    image: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Filling:
    """How full `pages` are: they have room for `blocks` images, without control images.

    `fillers` is the number of captions that fill them up, `missing` the number still missing to full pages.
    `short_blocks` of the `blocks` have fewer captions than fit, or none.
    """

    pages: int = 0
    blocks: int = 0
    short_blocks: int = 0
    fillers: int = 0
    missing: int = 0


@dataclass(frozen=True, slots=True)
class PageBatch:
    """Pages, each a tuple of blocks without control images, and how full they are."""

    pages: tuple[tuple[Block, ...], ...]
    filling: Filling = Filling()

    def count(self, role: str) -> int:
        """Return the number of entries of the batch with this role."""
        return sum(entry.role == role for page in self.pages for block in page for entry in block.entries)


@dataclass(frozen=True, slots=True)
class ControlImage:
    """A development image with captions known to describe it (`true`) or not (`false`)."""

    id: str
    image: str
    true: frozenset[str]
    false: frozenset[str]

    def __post_init__(self) -> None:
        if not self.true | self.false or self.true & self.false:
            raise ValueError(
                f"control image {self.id}: expected at least one caption, and none both true and wrong"
            )

    @property
    def block(self) -> Block:
        """The image's captions as a block of a page, in order, all as gold answers."""
        captions = sorted(self.true | self.false)
        return Block(self.image, tuple(Entry(self.image, caption, ROLE_CONTROL) for caption in captions))

    def known(self, block: Block) -> tuple[bool, ...]:
        """Return the gold answers in the order of the captions of `block`, for `grading.is_right`."""
        return tuple(entry.caption in self.true for entry in block.entries)


class _Fillers:
    """Filtered pairs by image; each is used at most once, and never for an image that needs it as a pair."""

    def __init__(
        self, fillers: Mapping[str, Collection[str]], chosen: Mapping[str, Collection[str]], seed: Seed
    ) -> None:
        self._fillers, self._seed = fillers, seed
        self._used: dict[str, set[str]] = {image: set(captions) for image, captions in chosen.items()}

    def left(self, image: str) -> set[str]:
        return set(self._fillers.get(image, ())).difference(self._used.get(image, ()))

    def take(self, image: str, count: int) -> list[Entry]:
        taken = draw_sample(self.left(image), count, self._seed, "filler", image) if count else []
        self._used.setdefault(image, set()).update(taken)
        return [Entry(image, caption, ROLE_FILLER) for caption in taken]

    def fullest(self, *, but: Collection[str], captions: int) -> str | None:
        """Return a random image outside `but` that can fill a block, or comes nearest; None if all are used
        up."""
        able = {image: min(len(self.left(image)), captions) for image in self._fillers if image not in but}
        if not any(able.values()):
            return None
        return min(able, key=lambda image: (-able[image], draw_number(self._seed, "padding", image), image))


def paginate(
    chosen: Iterable[Pair],
    fillers: Mapping[str, Collection[str]],
    *,
    seed: Seed,
    settings: PagingSettings | None = None,
) -> PageBatch:
    """Return the pages, with every pair of `chosen` exactly once.

    `fillers` maps images to the captions that the filter removed for them; chosen captions are skipped. Pairs
    are a set: repetitions and order have no effect. An image's last block, and pages that lack an image, are
    filled with fillers; if these run out a block has fewer captions or a page fewer images, and `filling` has
    the numbers. An image is twice on one page only if it has more blocks than there are pages.
    """
    settings = settings or PagingSettings()
    captions: dict[str, set[str]] = {}
    for image, caption in chosen:
        captions.setdefault(image, set()).add(caption)
    stock = _Fillers(fillers, captions, seed)
    blocks = [
        block
        for image in draw_sample(captions, len(captions), seed, "image")
        for block in _blocks(image, captions[image], stock, seed, settings.captions)
    ]
    room = settings.images - settings.controls
    pages: list[list[Block]] = [[] for _ in range(ceil(len(blocks) / room))]
    # Blocks are dealt in turn, so that those of one image, which are adjacent, are on different pages.
    for index, block in enumerate(blocks):
        pages[index % len(pages)].append(block)
    for page in pages:
        while len(page) < room:
            padding = stock.fullest(but={block.image for block in page}, captions=settings.captions)
            if padding is None:
                break
            page.append(Block(padding, tuple(stock.take(padding, settings.captions))))
    roles = ([[entry.role for entry in block.entries] for block in page] for page in pages)
    return PageBatch(tuple(map(tuple, pages)), filling_of(roles, settings))


def filling_of(pages: Iterable[Sequence[Sequence[str]]], settings: PagingSettings) -> Filling:
    """Return how full pages are, each given as its blocks, and a block as the roles of its captions."""
    room = settings.images - settings.controls
    number = short = fillers = missing = 0
    for page in pages:
        sizes = [len(block) for block in page]
        number += 1
        short += room - sum(size >= settings.captions for size in sizes)
        fillers += sum(role == ROLE_FILLER for block in page for role in block)
        missing += room * settings.captions - sum(sizes)
    return Filling(number, number * room, short, fillers, missing)


def _blocks(image: str, captions: Collection[str], stock: _Fillers, seed: Seed, size: int) -> list[Block]:
    order = draw_sample(captions, len(captions), seed, "wanted", image)
    blocks = []
    for start in range(0, len(order), size):
        entries = [Entry(image, caption, ROLE_WANTED) for caption in order[start : start + size]]
        blocks.append(Block(image, (*entries, *stock.take(image, size - len(entries)))))
    return blocks


def controls_on_page(
    trust: TrustSettings,
    *,
    seed: Seed,
    worker: str,
    state: str,
    page: int,
    kind: str,
    settings: PagingSettings | None = None,
) -> int:
    """Return the number of control images on this worker's page number `page` (from 1).

    One, as in the paper. With one per page, 30 items would contain 5 checked answers and a verdict would need
    72; so during warm-up some random pages contain only controls: as many as are needed for `warm_up_known`
    of `warm_up_items` (by default two pages in five, 15 of 30). A page of a single image has no room for
    another image: it is a control or not, as often as a single question (`controls.is_control_due`).
    """
    settings = settings or PagingSettings()
    if page < 1:
        raise ValueError(f"page number {page}: expected 1 or more")
    if settings.images == 1:
        return int(is_control_due(trust, seed=seed, worker=worker, kind=kind, state=state, number=page))
    if state != WARM_UP:
        return settings.controls
    pages = ceil(trust.warm_up_items / settings.images)
    lacking = trust.warm_up_known - pages * settings.controls
    tests = min(pages, max(0, ceil(lacking / (settings.images - settings.controls))))
    block, index = divmod(page - 1, pages)
    places = draw_sample(map(str, range(pages)), tests, seed, worker, kind, "test pages", block)
    return settings.images if str(index) in places else settings.controls


def displayed_positions(
    known: Sequence[bool], size: int, *, seed: Seed, worker: str, control: int | str
) -> list[int]:
    """Return indices of `size` captions of a control image (all, if it has no more), in their order.

    `known`: which of its captions are true. A control image has as many captions as the images beside it,
    which may be few. Of two or more at least one is true and one wrong, and the share of true ones is kept; a
    single one is true for half of the workers.
    """
    if size >= len(known):
        return list(range(len(known)))
    order = draw_sample(map(str, range(len(known))), len(known), seed, worker, "shown", control)
    true = [index for index in map(int, order) if known[index]]
    false = [index for index in map(int, order) if not known[index]]
    share = round(size * len(true) / len(known))
    if not true or not false:
        return sorted(map(int, order[:size]))
    if size == 1:
        number = int(draw_number(seed, worker, "true", control) < 0.5)
    else:
        number = min(len(true), size - 1, max(1, share, size - len(false)))
    return sorted([*true[:number], *false[: size - number]])


def for_worker(
    blocks: Sequence[Block], controls: Sequence[ControlImage], *, seed: Seed, worker: str
) -> tuple[Block, ...]:
    """Return the page for one worker: blocks and control images, with images and captions in random order.

    The order does not reveal a control or a filler, and no two workers have the same position bias. Raises
    ValueError for a control image that is on the page already.
    """
    taken = {block.image for block in blocks}
    for control in controls:
        if control.image in taken:
            raise ValueError(
                f"control image {control.id} shows {control.image}, which the page has already: "
                "make controls of images that no batch asks about, one of each"
            )
        taken.add(control.image)

    def shuffled(block: Block) -> Block:
        order = sorted(block.entries, key=lambda entry: draw_number(seed, worker, entry.image, entry.caption))
        return Block(block.image, tuple(order))

    def key_of(block: Block) -> float:
        return draw_number(seed, worker, "place", block.image, block.entries[0].caption)

    return tuple(sorted(map(shuffled, (*blocks, *(control.block for control in controls))), key=key_of))
