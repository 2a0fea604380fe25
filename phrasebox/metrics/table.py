"""METRICS: every measure under one canonical name, with the names of other tools as aliases.

A measure's module registers it: one of this folder, or `metric.py` in its own folder, in a package listed in
settings.METRIC_PACKAGES. Nothing else is changed, and `evaluation.checks` reports missing parts.

"@k" in a name stands for a cut-off. Accepted are our names, those of ir_measures (`Success@10`, `Rprec`,
`Judged@10`), of ranx (`hit_rate@1`, `recall@1`, `r-precision`) and of trec_eval (`recip_rank`, `P_10`,
`ndcg_cut_10`); capitals, spaces, hyphens and underscores do not matter. One name of theirs means something
else here: `R@k` is the image-caption field's (is any original item in the top k), and what ir_measures calls
R@k is `recall@k`.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from numpy.typing import NDArray

from phrasebox.plug_ins import PlugInFolders
from phrasebox.registry import UnknownName, registering

CutOff = Literal["none", "optional", "required"]
#: The kinds of input: rankings, written captions, boxes of phrases (two families), tags.
MEASURE_FAMILIES = ("ranking", "captioning", "localization", "detection", "tagging")
#: The bounds of values by unit; a measure of another unit has its own.
UNIT_BOUNDS = {"share": (0.0, 1.0), "rank": (1.0, math.inf)}


class UnknownMeasure(UnknownName):
    """An unknown measure, or a missing or superfluous cut-off; one line that lists what exists."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure. `values` returns one number per query (or item), NaN where it is undefined.

    `family` determines the arguments of `values` and `optimistic`: those of "ranking" take (ranked, k), with
    k None without a cut-off. `optimistic` is the same in the best case for unjudged items, if that exists.
    `summary` says how the values become one figure. `binary`: each value is 0 or 1 (found or not), so two
    systems are compared by McNemar's test. `source` is the paper or tool. `bounds` are the bounds of values,
    None if the unit determines them.
    """

    name: str
    title: str
    family: str
    values: Callable[..., NDArray[Any]]
    source: str
    cut_off: CutOff = "none"
    aliases: tuple[str, ...] = ()
    summary: Literal["mean", "median", "corpus"] = "mean"
    unit: Literal["share", "rank", "score"] = "share"
    higher_is_better: bool = True
    binary: bool = False
    optimistic: Callable[..., NDArray[Any]] | None = None
    trec_name: str = ""
    bounds: tuple[float, float] | None = None

    @property
    def range(self) -> tuple[float, float] | None:
        """The bounds of values; None if neither the measure nor its unit has them."""
        return self.bounds or UNIT_BOUNDS.get(self.unit)


@dataclass(frozen=True, slots=True)
class MeasureWithCutoff:
    """A measure with its cut-off (None: the whole ranking)."""

    measure: Measure
    k: int | None = None

    @property
    def name(self) -> str:
        """The canonical name: "R@10", "nDCG", "median rank"."""
        return _filled(self.measure.name, self.k)

    @property
    def trec_name(self) -> str:
        """The name in trec_eval, such as "P_10" or "map"; the canonical name where trec_eval has none."""
        if self.measure.trec_name and self.k is not None:
            return self.measure.trec_name.replace("#", f"_{self.k}")
        return self.measure.trec_name.partition("#")[0].removesuffix("_cut") or self.name.replace(" ", "_")


class Measures:
    """Measures by name. Names and aliases are unique."""

    def __init__(self) -> None:
        self._by_name: dict[str, Measure] = {}
        self._by_key: dict[str, Measure] = {}

    def register(self, measure: Measure) -> Measure:
        """Register a measure under its name and aliases; raises ValueError if one of them is taken."""
        names = (measure.name.removesuffix("@k"), *measure.aliases)
        for key in dict.fromkeys(_key(name) for name in names):
            if key in self._by_key:
                raise ValueError(
                    f"measure name {key!r} is taken by {self._by_key[key].name!r}: {measure.name!r}"
                )
            self._by_key[key] = measure
        self._by_name[measure.name] = measure
        return measure

    def find(self, name: str, *, family: str | None = None) -> MeasureWithCutoff:
        """Return the measure that `name` means, of `family` if given; raises UnknownMeasure."""
        head, k = _parts(name)
        measure = self._by_key.get(_key(name)) or self._by_key.get(_key(head))
        if measure is None or family not in (None, measure.family):
            keys = [key for key, entry in self._by_key.items() if family in (None, entry.family)]
            near = get_close_matches(_key(head), keys, n=1, cutoff=0.75)
            message = f"unknown measure {name!r}"
            if measure is not None:
                message = f"{name!r} is a measure of {measure.family}, not of {family}"
            elif near:
                message += f" (did you mean {self._by_key[near[0]].name}?)"
            raise UnknownMeasure(f"{message}; known: {', '.join(self.names(family))}")
        if _key(name) in self._by_key:
            k = None
        if k is not None and measure.cut_off == "none":
            raise UnknownMeasure(f"{name!r}: {measure.name} takes no cut-off; use {measure.name!r}")
        if k is None and measure.cut_off == "required":
            raise UnknownMeasure(f"{name!r} has no cut-off; use {_filled(measure.name, 10)!r}, for example")
        if k == 0:
            raise UnknownMeasure(f"{name!r}: a cut-off is 1 or more")
        return MeasureWithCutoff(measure, k)

    def called(self, name: str) -> Measure | None:
        """Return the measure with that name or alias, without a cut-off; None if there is none."""
        return self._by_key.get(_key(name))

    def names(self, family: str | None = None) -> tuple[str, ...]:
        """Return canonical names in the order of registration, with "@k" for the cut-off."""
        return tuple(m.name for m in self._by_name.values() if family in (None, m.family))

    def __iter__(self) -> Iterator[Measure]:
        return iter(self._by_name.values())


METRICS = Measures()
#: Create a measure from the arguments of `Measure`, and register it.
add_measure = registering(METRICS.register, Measure)

#: The file of examples that each added measure has.
EXAMPLES_FILE = "examples.json"
#: Measures of other packages: `metric.py`, `examples.json`, `README.md` in a folder with the measure's name.
METRIC_FOLDERS = PlugInFolders("metric", also=(EXAMPLES_FILE,))


def _parts(name: str) -> tuple[str, int | None]:
    """("P", 10) of "P@10" and of "P_10"; ("MAP", None) of "MAP"."""
    match = re.fullmatch(r"\s*(.+?)\s*(?:@|_)\s*(\d+)\s*", name)
    return (match[1], int(match[2])) if match else (name.removesuffix("@k"), None)


def _key(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).lower()


def _filled(name: str, k: int | None) -> str:
    if name.endswith("@k"):
        return name.removesuffix("@k") if k is None else f"{name[:-1]}{k}"
    return name
