"""Studies, by command alone: recipes cross-validated, judges simulated."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, Has, register
from annotation.common.roles import RESEARCHER
from evaluation.operations import study_texts as texts
from evaluation.services.batches import recorded_judges
from evaluation.services.systems import cross_validation

_ERRORS = (OSError, ValueError)

register(
    name="cross_validate",
    title=_("Cross-validate recipes"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=cross_validation.cross_validate_recipes,
    errors=_ERRORS,
    command=CommandLine(
        positional=("corpus", "recipes"), text=texts.crossed_text, layouts=texts.CROSSED_LAYOUTS
    ),
)
register(
    title=_("Simulate the judges of a batch"),
    permission=Has((RESEARCHER,), on="batch", corpora=True),
    run=recorded_judges.simulate_judges,
    errors=_ERRORS,
    command=CommandLine(positional=("batch",), text=texts.simulated_text),
)
