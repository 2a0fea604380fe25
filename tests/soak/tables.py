"""The tables at the end of a soak test: acknowledged and stored answers, faults, memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.common.plain_text import text_table
from tests.soak import check
from tests.soak.memory import Row

#: The recount's name for images whose layer is not up to date.
LAGGED = "images that the layer lagged behind"


def must_be_zero(
    report: Mapping[str, Any], sampled: Mapping[str, int], grown: Sequence[Row]
) -> dict[str, int]:
    """Return every figure that must be 0, by its name."""
    amiss, recount = report["amiss"], report["recount"]
    of_answers = (check.LOST, check.DOUBLED, check.OVER, check.JUDGED_OWN, check.UNKNOWN, check.NO_LEASE)
    return {
        **{name: amiss.get(name, 0) for name in of_answers},
        "over-assigned or miscounted while all went on": sampled.get("over or miscounted", 0),
        "what the queue keeps and a recount do not agree on": sum(recount["amiss"].values()),
        "images that the layer lags behind after the calm": recount["looked"].get(LAGGED, 0),
        "leases overdue after the calm": report["overdue"],
        "jobs amiss": sum(report["jobs"]["faults"].values()),
        "processes that grew by more than 10 %": sum(row.too_much for row in grown),
    }


def problems_of(report: Mapping[str, Any], sampled: Mapping[str, int], grown: Sequence[Row]) -> list[str]:
    """Return the failed checks, one per line."""
    result = [f"{name}: {number}" for name, number in must_be_zero(report, sampled, grown).items() if number]
    same = report["same exports"]
    return result if same.startswith("yes") else [*result, f"exports: {same}"]


def figures(
    database: str,
    report: Mapping[str, Any],
    sampled: Mapping[str, int],
    killed: Mapping[str, int],
    done: Mapping[str, int],
    grown: Sequence[Row],
) -> str:
    """Return acknowledged and stored answers, the figures that must be 0, the faults, and other counts."""
    counted, jobs, looked = report["counted"], report["jobs"], report["recount"]["looked"]
    answers = ("acknowledged", "stored", "stored, and not acknowledged")
    lines: list[list[Any]] = [[name, counted.get(name, 0)] for name in answers]
    lines += [[name, number] for name, number in must_be_zero(report, sampled, grown).items()]
    lines += [["same dataset, same checksum", report["same exports"]]]
    rest = {name: n for name, n in {**counted, **looked}.items() if name not in (*answers[:2], LAGGED)}
    for title, numbers in (
        ("killed: ", killed),
        ("", done),
        ("trouble seen: ", report["troubles"]),
        ("refused: ", report["refused"]),
        ("", rest),
        ("counted: ", sampled),
    ):
        lines += [[f"{title}{name}", number] for name, number in sorted(numbers.items())]
    lines += [[f"jobs: {name}", jobs[name]] for name in ("asked", "shown", "fetched", "archives")]
    lines += [[f"jobs that are {state}", number] for state, number in report["jobs that ended"].items()]
    lines += [[f"failed: {error}", number] for error, number in jobs["failed"].items()]
    displayed = text_table(["what", "figure"], lines)
    return f"== {database}: what was acknowledged and what is stored ==\n{displayed}"


def of_memory(database: str, grown: Sequence[Row]) -> str:
    """Return a table of each process's memory at minute ten and at the end."""
    heads = ["process", "minute ten", "PSS", "age, min", "end", "PSS", "age, min", "growth"]
    lines = [
        [
            *(row.name, f"{row.before:.1f}", f"{row.pss_before:.1f}", f"{row.age_before:.1f}"),
            *(f"{row.after:.1f}", f"{row.pss_after:.1f}", f"{row.age_after:.1f}", row.verdict),
        ]
        for row in grown
    ]
    return f"== {database}: memory, MiB of its own ==\n{text_table(heads, lines)}"
