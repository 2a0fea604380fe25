"""What figures are of: which cases, of how many, under which conditions, and what the systems had seen.

Every table of figures prints one `FigureBasis` (`figure_tables.Table`), reports contain it as plain data
under "basis", and figures are comparable only where their bases `differ` in nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

#: Fields in which two figures may differ and still be compared: what a system lacks, or has seen, is its own.
_OF_ONE_SYSTEM = frozenset({"without_output", "provenance", "notes"})
#: How fields are called in sentences.
_TITLES = {
    "counted": "cases",
    "out_of": "cases asked for",
    "without_relevant": "cases without a relevant item",
    "missing": "missing output",
}
#: Conditions in the order in which they are read.
_CONDITIONS = ("pool", "protocol", "tokens", "references", "weights")
#: What becomes of missing output, for people; where it is refused, none is missing.
_MISSING = {"worst": "counted as the worst result", "leave-out": "left out"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureBasis:
    """What the figures of one table are of; an empty field does not apply.

    `cases` says in the plural what a figure is a mean over ("queries", "images", "pairs", "phrases");
    figures are of `counted` of the `out_of` that were asked for (None: not known, and the table says so).
    `without_relevant` of the counted ones have no relevant item, and count 0. `pool` names the qrels or the
    answers, with version and subset; `protocol` the rule or protocol. `missing` says what happens to cases
    without output ("refuse", "worst", "leave-out"), of which there are `without_output`. `tokens` is how
    texts are cut ("ptb", "own"); `references` the named set that document frequencies come from, with its
    digest; `weights` how answers are weighted. `provenance` maps each system to what it has seen of the
    cases, in one sentence without its name. `notes` are further sentences.
    """

    cases: str = ""
    counted: int | None = None
    out_of: int | None = None
    without_relevant: int = 0
    without_output: int = 0
    pool: str = ""
    protocol: str = ""
    missing: str = ""
    tokens: str = ""
    references: str = ""
    weights: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as JSON has it."""
        return {**asdict(self), "provenance": dict(self.provenance), "notes": list(self.notes)}

    def lines(self) -> list[str]:
        """Sentences for people, a line each."""
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
        """In what two bases differ, so that their figures must not be compared; a line each."""
        return [
            f"{_TITLES.get(field_.name, field_.name)}: {ours!r} and {theirs!r}"
            for field_ in fields(self)
            if field_.name not in _OF_ONE_SYSTEM
            and (ours := getattr(self, field_.name)) != (theirs := getattr(other, field_.name))
        ]


def basis_from_dict(data: Mapping[str, Any]) -> FigureBasis:
    """The basis that `FigureBasis.as_dict` made; raises TypeError for other fields."""
    return FigureBasis(**{**data, "notes": tuple(data.get("notes", ()))})


def differences(bases: Iterable[FigureBasis]) -> list[str]:
    """In what several bases differ from the first one, each difference once."""
    first, *others = bases
    return list(dict.fromkeys(line for basis in others for line in first.differs(basis)))


def basis_of_several(bases: Mapping[str, FigureBasis]) -> FigureBasis:
    """The basis of a table with figures of several things, by what each is called: theirs where it is the
    same, else a note about each."""
    first, *others = bases.values()
    if all(basis == first for basis in others):
        return first
    return FigureBasis(
        notes=tuple(f"{name}: {' '.join(basis_of.lines())}" for name, basis_of in bases.items())
    )
