"""What commands write of runs."""

from __future__ import annotations

from evaluation.services.runs.files import RunFile, RunReport


def imported_text(report: RunReport) -> str:
    """What an import came to."""
    end = "already exists, nothing changed" if report.unchanged else "imported"
    best = f", the best {report.depth} stored" if report.depth else ""
    remarks = "".join(f"{remark}\n" for remark in report.remarks)
    return (
        f"{report.entries} entries in {report.queries} rankings ({report.direction}{best})\n"
        f"{remarks}"
        f"run {report.run!r} of corpus {report.corpus!r} {end}\n"
        f"{report.seconds:.1f} s, digest {report.digest}"
    )


def exported_text(written: RunFile) -> str:
    """What was written, and what other tools make of its ties."""
    lines = [f"{written.lines} lines written"]
    if written.tied:
        lines.append(
            f"{written.tied} queries have items with equal scores; where they stay equal, tools that reorder "
            "such items, as trec_eval does, may give other values for these queries"
        )
    if written.differ is not None:
        lines.append(f"{written.differ} queries have other values in trec_eval")
    return "\n".join(lines)
