"""METRICS: every measure under one canonical name, with the names of other tools as aliases.

A measure's module registers it: one of this folder, or `metric.py` in its own folder, in a package listed in
settings.METRIC_PACKAGES. Nothing else is changed, and `evaluation.checks` reports missing parts.

"@k" in a name stands for a cut-off, "@r" for a level of recall, such as 0.1. Some measures have a parameter,
written as ir_measures does: `RBP(p=0.95)@10`; without it the default applies. Accepted are our names, those
of ir_measures (`Success@10`, `Rprec`, `Judged@10`, `IPrec@0.1`), of ranx (`hit_rate@1`, `recall@1`,
`r-precision`) and of trec_eval (`recip_rank`, `P_10`, `ndcg_cut_10`); capitals, spaces, hyphens and
underscores do not matter. One name of theirs means something else here: `R@k` is the image-caption field's
(is any original item in the top k), and what ir_measures calls R@k is `recall@k`.
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

#: "recall": the cut-off is a share of the relevant items, from 0 to 1.
CutOff = Literal["none", "optional", "required", "recall"]
#: How a name shows that there is a cut-off.
CUT_OFF_ENDINGS = ("@k", "@r")
#: The kinds of input: rankings, written captions, boxes of phrases (two families), tags.
MEASURE_FAMILIES = ("ranking", "captioning", "localization", "detection", "tagging")
#: The bounds of values by unit; a measure of another unit has its own.
UNIT_BOUNDS = {"share": (0.0, 1.0), "rank": (1.0, math.inf)}


class UnknownMeasure(UnknownName):
    """An unknown measure, or a missing or superfluous cut-off; one line that lists what exists."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that a measure's name can give, as in "RBP(p=0.95)"; it is between `low` and `high`."""

    name: str
    default: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure. `values` returns one number per query (or item), NaN where it is undefined.

    `family` determines the arguments of `values` and `optimistic`: those of "ranking" take (ranked, k), with
    k None without a cut-off, and then the value of `parameter` where there is one. `optimistic` is the same
    in the best case for unjudged items, if that exists.
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
    parameter: Parameter | None = None

    @property
    def range(self) -> tuple[float, float] | None:
        """The bounds of values; None if neither the measure nor its unit has them."""
        return self.bounds or UNIT_BOUNDS.get(self.unit)


@dataclass(frozen=True, slots=True)
class MeasureWithCutoff:
    """A measure with its cut-off (None: the whole ranking) and the value of its parameter (None: it has
    none)."""

    measure: Measure
    k: float | None = None
    parameter: float | None = None

    @property
    def depth(self) -> int | None:
        """The number of items that count; None without a cut-off, and for a level of recall."""
        return None if self.k is None or self.measure.cut_off == "recall" else int(self.k)

    @property
    def name(self) -> str:
        """The canonical name: "R@10", "nDCG", "iprec@0.1", "RBP(p=0.95)@10"."""
        return _filled(self.measure, self.k, self.parameter)

    @property
    def trec_name(self) -> str:
        """The name in trec_eval, such as "P_10" or "map"; the canonical name where trec_eval has none."""
        name = self.measure.trec_name
        if self.k is not None and "#" in name:
            return name.replace("#", f"_{self.k:.2f}" if self.depth is None else f"_{self.depth}")
        plain = name.partition("#")[0].removesuffix("_cut") if self.k is None else ""
        return plain or self.name.replace(" ", "_")

    def values(self, ranked: Any) -> NDArray[Any]:
        """Return the values of a measure of rankings, shape (queries,)."""
        return self._computed(self.measure.values, ranked)

    def optimistic(self, ranked: Any) -> NDArray[Any] | None:
        """Return the values in the best case for unjudged items; None where the measure has none."""
        best = self.measure.optimistic
        return None if best is None else self._computed(best, ranked)

    def _computed(self, function: Callable[..., NDArray[Any]], ranked: Any) -> NDArray[Any]:
        k = self.k if self.depth is None else self.depth
        return function(ranked, k) if self.parameter is None else function(ranked, k, self.parameter)


class Measures:
    """Measures by name. Names and aliases are unique."""

    def __init__(self) -> None:
        self._by_name: dict[str, Measure] = {}
        self._by_key: dict[str, Measure] = {}

    def register(self, measure: Measure) -> Measure:
        """Register a measure under its name and aliases; raises ValueError if one of them is taken."""
        names = (_head(measure), *measure.aliases)
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
        head, argument, k = _parts(name)
        # A name of ours may end in a number.
        whole = argument is None and _key(name) in self._by_key
        measure = self._by_key.get(_key(name) if whole else _key(head))
        if measure is None or family not in (None, measure.family):
            keys = [key for key, entry in self._by_key.items() if family in (None, entry.family)]
            near = get_close_matches(_key(head), keys, n=1, cutoff=0.75)
            message = f"unknown measure {name!r}"
            if measure is not None:
                message = f"{name!r} is a measure of {measure.family}, not of {family}"
            elif near:
                message += f" (did you mean {self._by_key[near[0]].name}?)"
            raise UnknownMeasure(f"{message}; known: {', '.join(self.names(family))}")
        level = None if whole or k is None else float(k)
        _check_cut_off(name, measure, level)
        return MeasureWithCutoff(measure, level, _parameter(name, measure, argument))

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


def _parts(name: str) -> tuple[str, tuple[str, str] | None, str | None]:
    """("P", None, "10") of "P@10" and of "P_10"; ("RBP", ("p", "0.5"), None) of "RBP(p=0.5)"."""
    number = r"\d+(?:\.\d+)?"
    cut = rf"(?:(?:@|_)\s*({number}))?"
    match = re.fullmatch(rf"\s*(.+?)\s*(?:\(\s*(\w+)\s*=\s*({number})\s*\))?\s*{cut}\s*", name)
    if match is None or (match[2] is None and match[4] is None):
        return name.removesuffix("@k").removesuffix("@r"), None, None
    return match[1], (match[2], match[3]) if match[2] else None, match[4]


def _check_cut_off(name: str, measure: Measure, k: float | None) -> None:
    if k is not None and measure.cut_off == "none":
        raise UnknownMeasure(f"{name!r}: {measure.name} takes no cut-off; use {measure.name!r}")
    if measure.cut_off == "recall":
        if k is None:
            raise UnknownMeasure(
                f"{name!r} has no level of recall; use {_filled(measure, 0.1)!r}, for example"
            )
        if k > 1:
            raise UnknownMeasure(f"{name!r}: a level of recall is between 0 and 1")
        return
    if k is None and measure.cut_off == "required":
        raise UnknownMeasure(f"{name!r} has no cut-off; use {_filled(measure, 10)!r}, for example")
    if k is not None and (k < 1 or k != int(k)):
        raise UnknownMeasure(f"{name!r}: a cut-off is a whole number, 1 or more")


def _parameter(name: str, measure: Measure, argument: tuple[str, str] | None) -> float | None:
    """Return the value of the measure's parameter: that of the name, or the default."""
    known = measure.parameter
    if argument is None:
        return None if known is None else known.default
    if known is None or argument[0] != known.name:
        choices = "no parameter" if known is None else f"the parameter {known.name}, not {argument[0]}"
        raise UnknownMeasure(f"{name!r}: {measure.name} has {choices}")
    value = float(argument[1])
    if not known.low <= value <= known.high:
        raise UnknownMeasure(f"{name!r}: {known.name} is between {known.low:g} and {known.high:g}")
    return value


def _key(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).lower()


def _head(measure: Measure) -> str:
    """Return the canonical name without its cut-off."""
    return measure.name[:-2] if measure.name.endswith(CUT_OFF_ENDINGS) else measure.name


def _filled(measure: Measure, k: float | None, parameter: float | None = None) -> str:
    known = measure.parameter
    argument = ""
    if known is not None and parameter not in (None, known.default):
        argument = f"({known.name}={parameter:g})"
    cut = "" if k is None else f"@{int(k) if k == int(k) else k}"
    return f"{_head(measure)}{argument}{cut}"
