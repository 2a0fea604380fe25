"""Studies, by command alone: recipes cross-validated, judges simulated, printed figures computed again."""

from django.utils.translation import gettext_lazy as _

from annotation.common.locks import Busy
from annotation.common.operations import CommandLine, Has, register
from annotation.common.roles import RESEARCHER
from evaluation.operations import study_texts as texts
from evaluation.services import hodosh
from evaluation.services.batches import recorded_judges
from evaluation.services.systems import cross_validation
from phrasebox.registry import UnknownName

_RESEARCHES = Has((RESEARCHER,), corpora=True)
_ERRORS = (UnknownName, OSError, ValueError)

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
    errors=(Busy, *_ERRORS),
    command=CommandLine(positional=("batch",), text=texts.simulated_text),
)
register(
    title=_("Reproduce the tables of Hodosh et al."),
    permission=_RESEARCHES,
    run=hodosh.reproduce_hodosh,
    errors=_ERRORS,
    command=CommandLine(positional=("folder",), text=texts.reproduced_text, layouts=texts.REPRODUCED_LAYOUTS),
)
register(
    title=_("Compare the similarities of words with printed ones"),
    permission=_RESEARCHES,
    run=hodosh.word_similarity,
    errors=_ERRORS,
    command=CommandLine(
        positional=("folder",), text=texts.similar_words_text, layouts=texts.SIMILAR_WORDS_LAYOUTS
    ),
)
