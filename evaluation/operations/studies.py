"""Studies, by command alone: recipes cross-validated, judges simulated, printed figures computed again."""

from django.utils.translation import gettext_lazy as _

from annotation.common.locks import Busy
from annotation.common.operations import CommandLine, Has, Operation, register
from annotation.common.registry import UnknownName
from annotation.common.roles import RESEARCHER
from evaluation.operations import study_texts as texts
from evaluation.reproduction.figure3 import Figure3
from evaluation.reproduction.report import ReproductionReport
from evaluation.services import hodosh
from evaluation.services.batches import recorded_judges
from evaluation.services.figure_requests import FigureReport
from evaluation.services.systems import cross_validation

_RESEARCHES = Has((RESEARCHER,), corpora=True)
_ERRORS = (UnknownName, OSError, ValueError)

register(
    Operation(
        name="cross_validate",
        title=_("Cross-validate recipes"),
        request=cross_validation.CrossValidationRequest,
        result=FigureReport,
        permission=Has((RESEARCHER,), on="corpus", corpora=True),
        run=cross_validation.cross_validate_recipes,
        errors=_ERRORS,
        command=CommandLine(
            positional=("corpus", "recipes"), text=texts.crossed_text, layouts=texts.CROSSED_LAYOUTS
        ),
    )
)
register(
    Operation(
        name="simulate_judges",
        title=_("Simulate the judges of a batch"),
        request=recorded_judges.SimulateJudgesRequest,
        result=recorded_judges.SimulatedJudges,
        permission=Has((RESEARCHER,), on="batch", corpora=True),
        run=recorded_judges.simulate_judges,
        errors=(Busy, *_ERRORS),
        command=CommandLine(positional=("batch",), text=texts.simulated_text),
    )
)
register(
    Operation(
        name="reproduce_hodosh",
        title=_("Reproduce the tables of Hodosh et al."),
        request=hodosh.ReproduceRequest,
        result=ReproductionReport,
        permission=_RESEARCHES,
        run=hodosh.reproduce_hodosh,
        errors=_ERRORS,
        command=CommandLine(
            positional=("folder",), text=texts.reproduced_text, layouts=texts.REPRODUCED_LAYOUTS
        ),
    )
)
register(
    Operation(
        name="word_similarity",
        title=_("Compare the similarities of words with printed ones"),
        request=hodosh.WordSimilarityRequest,
        result=Figure3,
        permission=_RESEARCHES,
        run=hodosh.word_similarity,
        errors=_ERRORS,
        command=CommandLine(
            positional=("folder",), text=texts.similar_words_text, layouts=texts.SIMILAR_WORDS_LAYOUTS
        ),
    )
)
