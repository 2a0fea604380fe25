"""Which mentions with boxes a layer localizes correctly.

A mention is localized if the box that a layer gives its words overlaps the box around the mention's own boxes
by an IoU of at least 0.5. The layer's box is that of the chain which most of the mention's words belong to;
of chains with equally many, the earlier one. A mention without a word in any chain counts as missed.

Source: Plummer et al. 2015, section 3.2; Karpathy and Fei-Fei 2015, eq. 10 to 12 (segments of words).
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.contents import corners
from annotation.protocol.terms import Box, LayerRecord, Mention
from phrasebox.metrics.localization import RIGHT_IOU, iou, union_box


def boxed_mentions(gold: LayerRecord) -> Iterator[tuple[Mention, NDArray[np.float64]]]:
    """Yield the mentions that people boxed, in caption order, each with the box around all of its boxes."""
    depicted = gold.depicted()
    around = {chain: union_box([corners(box) for box in boxes]) for chain, boxes in depicted.items()}
    for chain in gold.chains:
        if chain.id in around:
            for mention in chain.mentions:
                yield mention, around[chain.id]


def mentions_localized(layer: LayerRecord, gold: LayerRecord) -> list[bool]:
    """Return for each boxed mention of `gold` whether `layer` localizes it."""
    depicted = layer.depicted()
    chain_of = {
        (mention.caption, word): chain.id
        for chain in layer.chains
        for mention in chain.mentions
        for word in range(mention.start, mention.end)
    }
    right = []
    for mention, box in boxed_mentions(gold):
        held = Counter(
            chain_of[mention.caption, word]
            for word in range(mention.start, mention.end)
            if (mention.caption, word) in chain_of
        )
        chain = next((chain for chain, _ in held.most_common(1)), "")
        right.append(chain in depicted and is_localized(depicted[chain], box))
    return right


def is_localized(boxes: Sequence[Box], box: NDArray[np.float64]) -> bool:
    """Whether the box around `boxes` overlaps `box` by at least `RIGHT_IOU`."""
    return bool(iou(union_box([corners(corner_box) for corner_box in boxes]), box) >= RIGHT_IOU)
