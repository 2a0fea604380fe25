"""The figures of localization sets as tables, and remarks on them."""

from typing import Any

from evaluation.comparison.missing import WORST
from evaluation.services.localizations.measures import RECALL_RANKS
from phrasebox.figure_basis import basis_from_dict
from phrasebox.figure_tables import Table


def tables_of_localization(report: dict[str, Any]) -> dict[str, Table]:
    """Return the report's tables by title: figures, Table 2, Table 3, and differences where there are
    some."""
    keys = ["measure", "value", "low", "high", "items", "remark"]
    figures = [*recalls_of(report), "AP", "proposals"]
    places = dict.fromkeys([*figures, "value", "low", "high", "first", "second", "difference", "p"], 4)
    basis = basis_from_dict(report["basis"])
    tables = {
        "Figures": Table(
            keys, [[row[key] for key in keys] for row in report["measures"]], places, basis=basis
        ),
        "By category": Table(
            ["category", "mentions", "phrases", *figures],
            [
                [row[key] for key in ("category", "mentions", "phrases", *figures)]
                for row in report["categories"]
            ],
            places,
            basis=basis,
        ),
        "The most frequent phrases": Table(
            (by_phrase := ["phrase", "mentions", *figures]),
            [[row[key] for key in by_phrase] for row in report["frequent"]],
            places,
            basis=basis,
        ),
    }
    if "differences" in report:
        keys = ["measure", "first", "second", "difference", "low", "high", "p", "remark"]
        tables[f"Difference from {report['against']}"] = Table(
            keys,
            [[row.get(key) for key in keys] for row in report["differences"]],
            places,
            basis=basis_from_dict(report["differences_basis"]),
        )
    return tables


def recalls_of(report: dict[str, Any]) -> list[str]:
    """Return the recalls of a report, such as "R@10"."""
    names = (row["measure"] for row in report["measures"])
    return [name for name in names if name.startswith("R@") and name[2:].isdigit()]


def remarks_on_localization(report: dict[str, Any]) -> str:
    """Return the remarks on the figures."""
    which = f" ({report['subset']})" if report["subset"] else ""
    missing = report["mentions"] - report["predicted"]
    layer = f"layer {report['layer']}" if report["layer"] else "the layer"
    counted = (
        f"{report['mentions']:,} boxed mentions of {report['images']:,} images, {report['phrases']:,} phrases"
    )
    lines = [f"{report['set']} against {layer} of corpus {report['corpus']}{which}: {counted}."]
    if missing:
        lines.append(f"{missing:,} mentions have no prediction and count as missed.")
    if report["without_output"] and report["missing"] == WORST:
        lines.append(
            "AP and mAP are 0: the best regions for any phrase might be wrong ones in missing images."
        )
    undetected = report["undetected"]
    if undetected:
        lines.append(
            f"AP is of the images of each phrase's mentions alone: {undetected:,} phrases with regions have "
            "no line of detections."
        )
    elif report["part"]:
        lines.append(
            "AP is of the images of each phrase's mentions alone: only a part of the set's images is scored, "
            "and the best detections in all of them were kept."
        )
    elif not report["everywhere"]:
        lines.append(
            "AP is of the images of each phrase's mentions alone: the set has no detections elsewhere."
        )
    if report["everywhere"] and report.get("differences_everywhere") is False:
        lines.append(
            "Differences in AP are of the images of each phrase's mentions alone: the two sets did not look "
            "for all phrases in the same images."
        )
    if report.get("differences_mentions", report["mentions"]) < report["mentions"]:
        lines.append(
            f"Differences are of {report['differences_mentions']:,} boxed mentions of "
            f"{report['differences_images']:,} images: the two sets did not both look at the others."
        )
    cut_at, differences = report["cut_at"], report.get("differences_cut_at")
    if cut_at is not None and cut_at < RECALL_RANKS[-1]:
        lines.append(f"R@k beyond {cut_at:,} is left out: the set kept {_at_most(cut_at)} of each mention.")
    if differences is not None and differences != cut_at and differences < RECALL_RANKS[-1]:
        lines.append(
            f"Differences in R@k beyond {differences:,} are left out: {report['against']} kept "
            f"{_at_most(differences)} of each mention."
        )
    if report["fewest_stored"] is not None and report["fewest_stored"] < RECALL_RANKS[-1]:
        lines.append(
            f"R@k beyond {report['fewest_stored']:,} is of the kept regions: some mentions have no more, and "
            "what was dropped is not known."
        )
    if not report["proposed"]:
        lines.append(
            "Proposals, R@1 random and R@1 largest are of the kept regions: the others are not known."
        )
    if report["resamples"]:
        lines.append(
            f"Intervals of {100 * report['level']:.6g} %: shares by images (Wilson's), AP and mAP by "
            f"{report['resamples']:,} resamples of phrases, seed {report['seed']}."
        )
    return "\n".join(lines)


def _at_most(number: int) -> str:
    return f"{number:,} region{'s' if number > 1 else ''} at most"
