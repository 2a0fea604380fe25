"""The scores of tag sets in a report, as mappings of plain data from `services.tagging.scores`."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.report_data.tables import Titled, level_text
from phrasebox.figure_basis import FigureBasis, basis_from_dict, basis_of_several
from phrasebox.figure_tables import Cell, Table

#: A set's scores: the set, what was compared, and its `measures`, a mapping each.
ScoredTags = Mapping[str, Any]

#: The keys with remarks on an interval.
_WORDS = ("interval", "remark", "gain_remark")


def tag_tables(scored: Sequence[ScoredTags], *, level: float) -> list[Titled]:
    """Return sets by measures, with intervals in the second table and the gains over chance in the third."""
    names = list(dict.fromkeys(_name(measure) for set_ in scored for measure in set_["measures"]))
    rows: list[list[Cell]] = []
    between: list[list[Cell]] = []
    gains: list[list[Cell]] = []
    tidy: list[list[Cell]] = []
    for set_ in scored:
        by_name = {_name(measure): measure for measure in set_["measures"]}
        rows.append([set_["name"], *(_percent(by_name[name]["value"]) for name in names)])
        between.append(
            [
                set_["name"],
                *(
                    f"{100 * measure['low']:.1f} to {100 * measure['high']:.1f}"
                    for measure in by_name.values()
                ),
            ]
        )
        gains.append(
            [set_["name"], *(_percent(by_name[name]["gain"]) for name in names if "gain" in by_name[name])]
        )
        tidy += [
            [
                set_["name"],
                set_["system"],
                name,
                measure["distractors"],
                measure["value"],
                measure["low"],
                measure["high"],
            ]
            + [measure.get(key) for key in ("chance", "gain", "gain_low", "gain_high", *_WORDS)]
            for name, measure in by_name.items()
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
    """Return what each set is compared with, in a sentence, and remarks on intervals."""
    compared = [
        f"{row['name']}{' of ' + row['system'] if row['system'] else ''}: {row['tags']:,} {row['unit']} of "
        f"{row['images']:,} images' captions, ranked with alpha {row['alpha']:g}"
        + (f", among {row['vocabulary']:,} that captions or lists name" if row["listed"] else "")
        + (f"; {row['unknown']:,} more could not have been chosen." if row["unknown"] else ".")
        for row in scored
    ]
    return [
        *compared,
        *(f"{row['name']}: {remark}." for row in scored for remark in interval_remarks(row)),
    ]


def basis_of_tags(scored: Sequence[ScoredTags]) -> FigureBasis:
    """Return the basis of the figures of these sets."""
    return basis_of_several({tag_set["name"]: basis_from_dict(tag_set["basis"]) for tag_set in scored})


def interval_remarks(scored: ScoredTags) -> list[str]:
    """Return the remarks on a set's intervals, each with its measures."""
    about: dict[str, dict[str, None]] = {}
    for measure in scored["measures"]:
        if measure.get("remark"):
            about.setdefault(measure["remark"], {})[measure["measure"]] = None
    return [f"{', '.join(measures)}: {remark}" for remark, measures in about.items()]


def _name(measure: Mapping[str, Any]) -> str:
    """Return the column title of a measure with its distractors."""
    number = measure["distractors"]
    return str(measure["measure"]) if number is None else f"{measure['measure']}, {number} distractors"


def _percent(share: float) -> float:
    return 100 * share
