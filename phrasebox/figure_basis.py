"""The basis of figures: which cases, how many, under which conditions, and what the systems had seen of them.

Every table of figures prints one `FigureBasis` (`figure_tables.Table`), reports contain it as plain data
under "basis", and figures are comparable only if `differs` returns nothing for their bases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

#: Fields in which the bases of comparable figures may differ: what a system lacks, or has seen, is its own.
_OF_ONE_SYSTEM = frozenset({"without_output", "provenance", "notes"})
#: The titles of fields in sentences.
_TITLES = {
    "counted": "cases",
    "out_of": "cases asked for",
    "without_relevant": "cases without a relevant item",
    "missing": "missing output",
}
#: Conditions in the order in which they are printed.
_CONDITIONS = ("pool", "protocol", "ties", "tokens", "references", "weights")
#: How missing output is treated, for people; where it is refused, none is missing.
_MISSING = {"worst": "counted as the worst result", "leave-out": "left out"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureBasis:
    """The basis of the figures of one table; an empty field does not apply.

    `cases` is the plural of what a figure averages over ("queries", "images", "pairs", "phrases"); figures
    use `counted` of the `out_of` requested cases (None: not known, and the table says so). `without_relevant`
    of the counted ones have no relevant item, and count 0. `pool` names the qrels or the answers, with
    version and subset; `protocol` the rule or protocol. `missing` is how cases without output are treated
    ("refuse", "worst", "leave-out"), of which there are `without_output`. `ties` is how tied items are
    ranked, where they do not share the mean of their ranks. `tokens` is the tokenisation ("ptb", "own");
    `references` the named set for document frequencies, with its digest; `weights` how answers are weighted.
    `provenance` maps each system to what it has seen of the cases, in one sentence without its name. `notes`
    are further sentences.
    """

    cases: str = ""
    counted: int | None = None
    out_of: int | None = None
    without_relevant: int = 0
    without_output: int = 0
    pool: str = ""
    protocol: str = ""
    missing: str = ""
    ties: str = ""
    tokens: str = ""
    references: str = ""
    weights: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-serialisable data."""
        return {**asdict(self), "provenance": dict(self.provenance), "notes": list(self.notes)}

    def lines(self) -> list[str]:
        """Return sentences for people, one per line."""
        lines = []
        if self.counted is not None:
            of = ", out of an unknown number" if self.out_of is None else f" of {self.out_of:,}"
            lines.append(f"{self.cases.capitalize()}: {self.counted:,}{of}.")
        if self.without_relevant:
            lines.append(f"Without a relevant item, counted as 0: {self.without_relevant:,}.")
        # Where every case counts, nothing was left out.
        if self.missing in _MISSING and (self.missing, self.counted) != ("leave-out", self.out_of):
            number = f"{self.without_output:,}, " if self.without_output else ""
            lines.append(f"Missing output: {number}{_MISSING[self.missing]}.")
        conditions = [f"{name}: {value}" for name in _CONDITIONS if (value := getattr(self, name))]
        if conditions:
            text = "; ".join(conditions)
            lines.append(f"{text[0].upper()}{text[1:]}.")
        lines += [f"{system}: {sentence}" for system, sentence in self.provenance.items()]
        return [*lines, *self.notes]

    def differs(self, other: FigureBasis) -> list[str]:
        """Return the differences between two bases because of which their figures must not be compared, one
        per line."""
        return [
            f"{_TITLES.get(field_.name, field_.name)}: {ours!r} and {theirs!r}"
            for field_ in fields(self)
            if field_.name not in _OF_ONE_SYSTEM
            and (ours := getattr(self, field_.name)) != (theirs := getattr(other, field_.name))
        ]


def basis_from_dict(data: Mapping[str, Any]) -> FigureBasis:
    """Return the basis that `FigureBasis.as_dict` wrote; raises TypeError for other fields."""
    return FigureBasis(**{**data, "notes": tuple(data.get("notes", ()))})


def differences(bases: Iterable[FigureBasis]) -> list[str]:
    """Return the differences of several bases from the first one, each once."""
    first, *others = bases
    return list(dict.fromkeys(line for basis in others for line in first.differs(basis)))


def basis_of_several(bases: Mapping[str, FigureBasis]) -> FigureBasis:
    """Return the basis of a table with figures of several sets, by name: the common value of each field, or a
    note about each set where they differ."""
    first, *others = bases.values()
    if all(basis == first for basis in others):
        return first
    return FigureBasis(
        notes=tuple(f"{name}: {' '.join(basis_of.lines())}" for name, basis_of in bases.items())
    )
