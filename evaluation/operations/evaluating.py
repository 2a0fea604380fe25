"""The operation that evaluates recipes and outside models in one step."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Rest, result_to_dict, table_layouts
from annotation.common.roles import RESEARCHER
from evaluation.comparison.comparisons import table_of_comparison, table_of_intervals
from evaluation.operations import register
from evaluation.operations.runs import comparison_text
from evaluation.services import evaluating
from evaluation.services.evaluating import Evaluation
from phrasebox.figure_tables import Table


def evaluated_text(evaluation: Evaluation) -> str:
    """Return the systems, then the comparison of each direction."""
    lines = []
    for system in evaluation.systems:
        state = "already existed" if system.unchanged else "new"
        lines.append(f"system {system.system!r} ({system.made_by}), {state}: runs {', '.join(system.runs)}")
        lines += [f"  {remark}" for remark in system.remarks]
    if evaluation.report:
        lines.append(f"report {evaluation.report!r} built")
    return "\n\n".join(["\n".join(lines), *map(comparison_text, evaluation.comparisons)])


def evaluation_tables(evaluation: Evaluation) -> Mapping[str, Table]:
    """Return the figures and their intervals, of each direction."""
    tables = {}
    for comparison in evaluation.comparisons:
        report = result_to_dict(comparison)
        tables[comparison.direction] = table_of_comparison(report)
        if comparison.resamples:
            tables[f"{comparison.direction}, {comparison.level:.0%}"] = table_of_intervals(report)
    return tables


register(
    name="evaluate",
    title=_("Evaluate"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=evaluating.run_evaluation,
    before_job=evaluating.check_evaluation,
    as_job=True,
    rest=Rest(
        "POST",
        "evaluations",
        "systems",
        example={"corpus": "harbour", "recipes": ["NN5-F1"], "held_out": "val"},
    ),
    command=CommandLine(
        positional=("corpus",), text=evaluated_text, layouts=table_layouts(evaluation_tables)
    ),
    page=FormPage(
        "evaluation:evaluate", started=_("Training, ranking and comparing."), tables=evaluation_tables
    ),
)
