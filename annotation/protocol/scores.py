"""Similarity of one layer to another: chains by B-cubed, boxes by matched IoU, kinds by accuracy.

B-cubed (Bagga and Baldwin 1998): a mention's precision is the share of its predicted chain that is also in
its gold chain, its recall the share of its gold chain that is also in its predicted chain; both are averaged
over mentions. A mention that the other side lacks scores 0.

Box score of a mention: boxes of its predicted chain are matched one to one with those of its gold chain, best
IoU first; the sum of IoUs is divided by the larger number of boxes, so that missing and superfluous boxes
lower it. Mentions without a box on either side are excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.protocol.terms import NOT_VISUAL, Box, LayerRecord


@dataclass(slots=True)
class LayerScores:
    """Sums over mentions; add images up with `add`, read the shares at the end."""

    predicted: int = 0
    gold: int = 0
    precision_sum: float = 0.0
    recall_sum: float = 0.0
    boxed: int = 0
    iou_sum: float = 0.0
    kinds: int = 0
    kinds_right: int = 0

    def add(self, scores: LayerScores) -> None:
        """Add the sums of other images to these."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(scores, name))

    @property
    def precision(self) -> float:
        """Mean precision over the predicted mentions; 0 if there are none."""
        return self.precision_sum / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Mean recall over the gold mentions; 0 if there are none."""
        return self.recall_sum / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """B-cubed F1, the harmonic mean of precision and recall; 0 if both are."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def iou(self) -> float:
        """Mean box score over mentions that have a box on either side; 0 if none has."""
        return self.iou_sum / self.boxed if self.boxed else 0.0

    @property
    def kind_accuracy(self) -> float:
        """Share of mentions whose chain has the right kind: boxed, scene or neither; 0 without mentions."""
        return self.kinds_right / self.kinds if self.kinds else 0.0


def b_cubed(chains: Iterable[Sequence[str]], gold: Iterable[Sequence[str]]) -> LayerScores:
    """Return B-cubed sums of one document; clusters are sequences of mention ids."""
    predicted_of = {name: frozenset(cluster) for cluster in chains for name in cluster}
    gold_of = {name: frozenset(cluster) for cluster in gold for name in cluster}
    scores = LayerScores(predicted=len(predicted_of), gold=len(gold_of))
    for name in predicted_of.keys() & gold_of.keys():
        shared = len(predicted_of[name] & gold_of[name])
        scores.precision_sum += shared / len(predicted_of[name])
        scores.recall_sum += shared / len(gold_of[name])
    return scores


def matched_iou(boxes: Sequence[Box], gold: Sequence[Box]) -> float:
    """Return the sum of IoUs of a one-to-one matching, best first, over the larger number of boxes."""
    if not boxes or not gold:
        return 0.0
    pairs = sorted(((-a.iou(b), i, j) for i, a in enumerate(boxes) for j, b in enumerate(gold)))
    used: tuple[set[int], set[int]] = (set(), set())
    total = 0.0
    for negative, i, j in pairs:
        if i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            total -= negative
    return total / max(len(boxes), len(gold))


def compare_layers(layer: LayerRecord, gold: LayerRecord) -> LayerScores:
    """Return all three scores of one image."""
    scores = b_cubed(_clusters(layer), _clusters(gold))
    ours, theirs = _by_mention(layer), _by_mention(gold)
    for name in ours.keys() & theirs.keys():
        (boxes, kind), (gold_boxes, gold_kind) = ours[name], theirs[name]
        scores.kinds += 1
        scores.kinds_right += kind == gold_kind
        if boxes or gold_boxes:
            scores.boxed += 1
            scores.iou_sum += matched_iou(boxes, gold_boxes)
    return scores


def _clusters(layer: LayerRecord) -> list[list[str]]:
    return [[m.id for m in chain.mentions] for chain in layer.chains]


def _by_mention(layer: LayerRecord) -> dict[str, tuple[tuple[Box, ...], str]]:
    """Return for each mention id the boxes of its chain, and whether that is boxed, a scene or neither."""
    depicted = layer.depicted()
    scenes = {name for obj in layer.objects if obj.scene for name in obj.chains}
    result = {}
    for chain in layer.chains:
        boxes = depicted.get(chain.id, ()) if chain.id != NOT_VISUAL else ()
        kind = "boxed" if boxes else "scene" if chain.id in scenes else "none"
        for mention in chain.mentions:
            result[mention.id] = (boxes, kind)
    return result
