"""A layer as boxes for other tools: one entry for each box and thing that it shows."""

from collections.abc import Iterator
from dataclasses import dataclass

from annotation.formats.base import Written
from annotation.protocol.terms import CATEGORIES, OTHER, Box, Chain, LayerRecord


@dataclass(frozen=True, slots=True)
class BoxEntry:
    """A box of a chain. `region` is the same for all entries of a box that shows several things, else ""."""

    box: Box
    chain: Chain
    region: str
    by_model: bool

    @property
    def label(self) -> str:
        """The chain's label; without one its first category in the order of CATEGORIES, `other` if it has
        none."""
        return self.chain.label or first_category(self.chain)

    @property
    def phrases(self) -> tuple[str, ...]:
        """The chain's own phrases, and its mentions."""
        return tuple(dict.fromkeys((*self.chain.phrases, *(m.text for m in self.chain.mentions))))


def first_category(chain: Chain) -> str:
    """Return the chain's first category in the order of CATEGORIES; `other` if it has none."""
    return next((name for name in chain.categories if name in CATEGORIES), OTHER)


def box_entries(layer: LayerRecord) -> Iterator[BoxEntry]:
    """Yield the boxes of a layer in order."""
    chains = {chain.id: chain for chain in layer.chains}
    for number, thing in enumerate(layer.objects):
        region = str(number) if len(thing.chains) > 1 else ""
        for name in thing.chains if thing.box is not None else ():
            assert thing.box is not None
            yield BoxEntry(thing.box, chains[name], region, thing.by_model)


def leave_out_of_boxes(layer: LayerRecord, written: Written) -> None:
    """Count what boxes with labels and phrases do not express of a layer."""
    depicted = layer.depicted()
    written.leave_out("mentions", len(layer.mentions))
    written.leave_out("boxless", sum(chain.id not in depicted for chain in layer.chains))
