"""The last step for an image: merge overlapping boxes, then chains with the same boxes.

Source: Plummer et al. 2015, section 2.3, "Box and Coreference Chain Merging": boxes merge at an IoU of at
least 0.8, or 0.9 for `other`; people and clothing never. Our choices: bodyparts do not merge with people
either; pairs are merged in descending IoU and transitively, but never so that one box would replace two boxes
of a chain or a forbidden pair; the survivor is the box of the chain with more mentions, but a person's before
a model annotator's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated

from pydantic import Field

from annotation.protocol.setting_types import IouThreshold, StorableText
from annotation.protocol.terms import (
    BODYPARTS,
    CLOTHING,
    NOT_VISUAL,
    OTHER,
    PEOPLE,
    Box,
    Chain,
    LayerObject,
    LayerRecord,
)
from annotation.protocol.words import gettext_noop as _
from models_core.checked_fields import CheckedRecord


@dataclass(frozen=True, slots=True)
class MergeRules(CheckedRecord):
    """When two boxes of different chains are merged (IoU in 0..1)."""

    iou: Annotated[
        IouThreshold, Field(description=_("Overlap (IoU) from which boxes of two chains become one"))
    ] = field(default=0.8, metadata={"source": "Plummer et al. 2015, section 2.3"})
    iou_other: Annotated[
        IouThreshold, Field(description=_("The same overlap, where a chain is of the category other"))
    ] = field(default=0.9, metadata={"source": "Plummer et al. 2015, section 2.3"})
    never: Annotated[
        tuple[tuple[StorableText, StorableText], ...],
        Field(
            examples=[[[PEOPLE, CLOTHING]]],
            description=_("Pairs of categories whose boxes stay apart, however much they overlap"),
        ),
    ] = field(
        default=((PEOPLE, CLOTHING), (PEOPLE, BODYPARTS)),
        metadata={"source": "Plummer et al. 2015, section 2.3; bodyparts decided"},
    )


@dataclass(frozen=True, slots=True)
class Merged:
    """One line of the merge log.

    `what` is "boxes" or "chains"; `chains` are the ids concerned, the survivor's first; `boxes` are the two
    boxes that were merged because of their overlap `iou`, the survivor first, or the boxes that all of the
    chains share (`iou` 1.0).
    """

    what: str
    chains: tuple[str, ...]
    boxes: tuple[Box, ...]
    iou: float


DEFAULT_RULES = MergeRules()


class _Cluster:
    """Objects that are merged into one box: their chains (never overlapping) and members."""

    __slots__ = ("chains", "members", "survivor")

    def __init__(self, member: int, chains: Iterable[str]) -> None:
        self.members = [member]
        self.chains = set(chains)
        self.survivor = member


def merge_layer(
    record: LayerRecord,
    *,
    rules: MergeRules = DEFAULT_RULES,
    apart: frozenset[frozenset[str]] = frozenset(),
    distinct: frozenset[frozenset[str]] = frozenset(),
) -> tuple[LayerRecord, tuple[Merged, ...]]:
    """Merge boxes, then chains, of one image whose chains are all closed.

    `apart` has pairs of chain ids whose boxes must not merge; pairs in `distinct` may share boxes but stay
    two chains. Returns the new record and the log; if the log is empty, the record is unchanged.
    """
    chains = {chain.id: chain for chain in record.chains if chain.id != NOT_VISUAL}
    for obj in record.objects:
        for name in obj.chains:
            chains.setdefault(name, Chain(name, ()))
    log: list[Merged] = []
    clusters = _merge_boxes(record.objects, chains, rules, apart, log)
    groups = _merge_chains(record.objects, chains, clusters, rules, apart | distinct, log)
    if not log:
        return record, ()
    return _rebuilt(record, chains, clusters, groups), tuple(log)


def _forbidden(a: Chain, b: Chain, rules: MergeRules, apart: frozenset[frozenset[str]]) -> bool:
    if apart and frozenset((a.id, b.id)) in apart:
        return True
    mine, theirs = a.categories, b.categories
    return any((x in mine and y in theirs) or (y in mine and x in theirs) for x, y in rules.never)


def _merge_boxes(
    objects: tuple[LayerObject, ...],
    chains: dict[str, Chain],
    rules: MergeRules,
    apart: frozenset[frozenset[str]],
    log: list[Merged],
) -> dict[int, _Cluster]:
    """Return the cluster of each boxed object by its index."""
    boxed = [i for i, obj in enumerate(objects) if obj.box is not None]
    cluster = {i: _Cluster(i, objects[i].chains) for i in boxed}
    pairs = []
    for i, j in combinations(boxed, 2):
        left, right = objects[i], objects[j]
        assert left.box is not None and right.box is not None
        overlap = left.box.iou(right.box)
        if overlap < min(rules.iou, rules.iou_other):
            continue
        loose = any(OTHER in chains[name].categories for name in (*left.chains, *right.chains))
        if overlap >= (rules.iou_other if loose else rules.iou):
            pairs.append((-overlap, i, j))
    for negative, i, j in sorted(pairs):
        first, two = cluster[i], cluster[j]
        if first is two or first.chains & two.chains:
            continue
        if any(_forbidden(chains[a], chains[b], rules, apart) for a in first.chains for b in two.chains):
            continue
        survivor = min((first, two), key=lambda c: _weight(c.survivor, objects, chains))
        lose = two if survivor is first else first
        joined = (i, j) if survivor is first else (j, i)
        pair = tuple(box for index in joined if (box := objects[index].box) is not None)
        names = (*objects[survivor.survivor].chains, *objects[lose.survivor].chains)
        log.append(Merged("boxes", tuple(dict.fromkeys(names)), pair, -negative))
        survivor.members.extend(lose.members)
        survivor.chains |= lose.chains
        for member in lose.members:
            cluster[member] = survivor
    return cluster


def _weight(index: int, objects: tuple[LayerObject, ...], chains: dict[str, Chain]) -> tuple[bool, int, int]:
    """Return the sort key of a surviving box: people's before model annotators', then most mentions first,
    then file order."""
    object = objects[index]
    return (object.by_model, -max(len(chains[name].mentions) for name in object.chains), index)


def _merge_chains(
    objects: tuple[LayerObject, ...],
    chains: dict[str, Chain],
    clusters: dict[int, _Cluster],
    rules: MergeRules,
    apart: frozenset[frozenset[str]],
    log: list[Merged],
) -> dict[str, list[str]]:
    """Return the group of each chain id, most mentions first; every chain is in one group.

    "The same set of boxes" is the same set of merged boxes, not of equal corners: a coat and its wearer with
    equal boxes stay two.
    """
    depicted: dict[str, list[int]] = {}
    for cluster in {id(c): c for c in clusters.values()}.values():
        for name in cluster.chains:
            depicted.setdefault(name, []).append(cluster.survivor)
    alike: dict[frozenset[int], list[list[str]]] = {}
    group_of: dict[str, list[str]] = {}
    for name in sorted(depicted, key=lambda n: (-len(chains[n].mentions), list(chains).index(n))):
        groups = alike.setdefault(frozenset(depicted[name]), [])
        for group in groups:
            if not any(_forbidden(chains[name], chains[member], rules, apart) for member in group):
                group.append(name)
                break
        else:
            group = [name]
            groups.append(group)
        group_of[name] = group
    for seen in {id(g): g for g in group_of.values()}.values():
        if len(seen) > 1:
            boxes = (objects[survivor].box for survivor in sorted(depicted[seen[0]]))
            log.append(Merged("chains", tuple(seen), tuple(box for box in boxes if box is not None), 1.0))
    for name in chains:
        group_of.setdefault(name, [name])
    return group_of


def _rebuilt(
    record: LayerRecord,
    chains: dict[str, Chain],
    clusters: dict[int, _Cluster],
    group_of: dict[str, list[str]],
) -> LayerRecord:
    merged: list[Chain] = []
    done: set[str] = set()
    for chain in record.chains:
        if chain.id == NOT_VISUAL:
            merged.append(chain)
            continue
        group = group_of[chain.id]
        if group[0] not in done:
            done.add(group[0])
            mentions = sorted((m for name in group for m in chains[name].mentions), key=lambda m: m.span)
            merged.append(Chain(group[0], tuple(mentions)))
    order = {chain.id: i for i, chain in enumerate(merged)}
    objects: dict[int, LayerObject] = {}
    for i, obj in enumerate(record.objects):
        if obj.box is None:
            objects[i] = obj
            continue
        cluster = clusters[i]
        if any(member in objects for member in cluster.members):
            continue
        names = {group_of[name][0] for name in cluster.chains}
        survivor = record.objects[cluster.survivor]
        named = tuple(sorted(names, key=lambda n: order.get(n, len(order))))
        objects[i] = LayerObject(named, survivor.box, by_model=survivor.by_model)
    return LayerRecord(tuple(merged), tuple(objects.values()))


def canonical_layer(
    chains: Iterable[tuple[Chain, tuple[Box, ...], str]],
    *,
    by_model: frozenset[tuple[str, Box]] = frozenset(),
) -> LayerRecord:
    """Return a record from (chain, its boxes, its kind) triples, in canonical order.

    Chains are sorted by first mention; objects follow chain by chain, a chain's boxes in input order. A chain
    without boxes becomes one object: `scene` if its kind is "scene", else `nobndbox`; with kind "" it has
    none (nothing is known yet). `by_model`: the boxes, each with its chain's id, that a model annotator drew.
    """
    ordered = sorted(chains, key=lambda triple: (triple[0].mentions[0].span, triple[0].id))
    objects: list[LayerObject] = []
    for chain, boxes, kind in ordered:
        objects.extend(LayerObject((chain.id,), box, by_model=(chain.id, box) in by_model) for box in boxes)
        if not boxes and kind:
            objects.append(LayerObject((chain.id,), None, kind == "scene", kind != "scene"))
    return LayerRecord(tuple(chain for chain, _, _ in ordered), tuple(objects))
