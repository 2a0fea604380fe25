"""The scores of tag sets in a report, as `services.tagging.scores` found them: plain data, a mapping each."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.formats.figure_basis import FigureBasis, basis_from_dict, basis_of_several
from evaluation.formats.figure_tables import Cell, Table
from evaluation.report_data.tables import Titled, level_text

#: What a set's scores hold: who it is of, what was compared, and its `measures`, a mapping each.
ScoredTags = Mapping[str, Any]

#: What is said of an interval, in words.
_WORDS = ("interval", "remark", "gain_remark")


def tag_tables(scored: Sequence[ScoredTags], *, level: float) -> list[Titled]:
    """Sets by measures, with intervals in the second table and the gains over chance in the third."""
    names = list(dict.fromkeys(_name(one) for set_ in scored for one in set_["measures"]))
    rows: list[list[Cell]] = []
    between: list[list[Cell]] = []
    gains: list[list[Cell]] = []
    tidy: list[list[Cell]] = []
    for set_ in scored:
        found = {_name(one): one for one in set_["measures"]}
        rows.append([set_["name"], *(_percent(found[name]["value"]) for name in names)])
        between.append(
            [set_["name"], *(f"{100 * one['low']:.1f} to {100 * one['high']:.1f}" for one in found.values())]
        )
        gains.append(
            [set_["name"], *(_percent(found[name]["gain"]) for name in names if "gain" in found[name])]
        )
        tidy += [
            [set_["name"], set_["system"], name, one["distractors"], one["value"], one["low"], one["high"]]
            + [one.get(key) for key in ("chance", "gain", "gain_low", "gain_high", *_WORDS)]
            for name, one in found.items()
        ]
    head = ["tag set", *names]
    pools = [name for name in names if "@" in name and name[0] == "p"]
    raw = ["set", "system", "measure", "distractors", "value", "low", "high", "chance", "gain"]
    basis = basis_of_tags(scored)
    note = (
        "p@k: of the first k tags in a pool of an image's own tags and distractors, the share of those that "
        "people's captions put first. P@k, MAP and MiAP: among all tags. In per cent."
    )
    return [
        Titled(
            "tags",
            "Ranked tags",
            note,
            Table(head, rows, dict.fromkeys(head, 1), basis=basis),
            Table(
                [*raw, "gain low", "gain high", *(key.replace("_", " ") for key in _WORDS)], tidy, basis=basis
            ),
        ),
        Titled(
            "tag-intervals",
            "Ranked tags, intervals",
            f"{level_text(level)} intervals, in per cent: Wilson's where every image has 0 or 1, else from "
            "bootstrap resamples of images, of MAP of tags.",
            Table(head, between, basis=basis),
        ),
        Titled(
            "tag-gains",
            "Ranked tags, gain over a random order",
            "Precision over that of a random order of the pool, less 1; in per cent.",
            Table(["tag set", *pools], gains, dict.fromkeys(pools, 0), basis=basis),
        ),
    ]


def tag_remarks(scored: Sequence[ScoredTags]) -> list[str]:
    """What each set is compared with, in a sentence; and of which intervals something is to be known."""
    compared = [
        f"{one['name']}{' of ' + one['system'] if one['system'] else ''}: {one['tags']:,} {one['unit']} of "
        f"{one['images']:,} images' captions, ranked with alpha {one['alpha']:g}"
        + (f", among {one['vocabulary']:,} that captions or lists name" if one["listed"] else "")
        + (f"; {one['unknown']:,} more could not have been chosen." if one["unknown"] else ".")
        for one in scored
    ]
    return [*compared, *(f"{one['name']}: {said}." for one in scored for said in interval_remarks(one))]


def basis_of_tags(scored: Sequence[ScoredTags]) -> FigureBasis:
    """What the figures of these sets are of."""
    return basis_of_several({one["name"]: basis_from_dict(one["basis"]) for one in scored})


def interval_remarks(scored: ScoredTags) -> list[str]:
    """What is to be known about a set's intervals, each with the measures that it is about."""
    about: dict[str, dict[str, None]] = {}
    for one in scored["measures"]:
        if one.get("remark"):
            about.setdefault(one["remark"], {})[one["measure"]] = None
    return [f"{', '.join(measures)}: {remark}" for remark, measures in about.items()]


def _name(one: Mapping[str, Any]) -> str:
    """A measure with its distractors, as a column is called."""
    number = one["distractors"]
    return str(one["measure"]) if number is None else f"{one['measure']}, {number} distractors"


def _percent(share: float) -> float:
    return 100 * share
