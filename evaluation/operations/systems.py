"""Systems: listed, archived, removed, trained; what they rank."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import (
    CommandLine,
    FormPage,
    Has,
    Rest,
    register,
    register_stored,
)
from annotation.common.roles import RESEARCHER
from evaluation.operations import system_texts as texts
from evaluation.services.alignments import decoding
from evaluation.services.runs import ranking
from evaluation.services.systems import listing, training, training_requests, upload

_RESEARCHES = Has((RESEARCHER,), corpora=True)
_ON_SYSTEM = Has((RESEARCHER,), on="system", corpora=True)
_ERRORS = (OSError, ValueError)
_ON_CORPUS = Has((RESEARCHER,), on="corpus", corpora=True)

register_stored(listing.STORED_SYSTEM)
register(
    title=_("List recipes"),
    result=listing.RecipeSummary,
    permission=_RESEARCHES,
    run=listing.list_recipes,
    rest=Rest("GET", "recipes", "systems", route="recipes"),
)
register(
    title=_("Train a system"),
    permission=_ON_CORPUS,
    run=training.train_system,
    before_job=training_requests.check_new_training,
    errors=_ERRORS,
    as_job=True,
    rest=Rest(
        "POST",
        "systems",
        "systems",
        route="systems",
        example={"name": "first", "corpus": "harbour", "recipe": "NN5-F1", "held_out": "val"},
    ),
    command=CommandLine(positional=("name",), text=texts.trained_text),
    page=FormPage("evaluation:train", started=_("Training the system.")),
)
register(
    title=_("Add a system"),
    permission=_ON_CORPUS,
    run=upload.add_system,
    errors=_ERRORS,
    rest=Rest(
        "POST",
        "system-uploads",
        "systems",
        own_transactions=True,
        creates="systems/{system}",
        example={"name": "sent", "corpus": "harbour", "format": "scores"},
    ),
    command=CommandLine(positional=("name", "file"), text=texts.added_text),
    page=FormPage("evaluation:bring"),
)
register(
    name="rank",
    title=_("Rank with a system"),
    permission=_ON_SYSTEM,
    run=ranking.rank_system,
    before_job=ranking.check_ranking,
    errors=_ERRORS,
    as_job=True,
    rest=Rest("POST", "systems/<slug:system>/rank", "systems", example={"split": "test"}),
    command=CommandLine(text=texts.ranked_text),
    page=FormPage(started=_("Ranking the images and captions.")),
)
register(
    title=_("Align words with regions"),
    permission=_ON_SYSTEM,
    run=decoding.decode_alignments,
    before_job=decoding.check_decoding,
    errors=_ERRORS,
    as_job=True,
    rest=Rest(
        "POST",
        "systems/<slug:system>/segments",
        "systems",
        example={"layer": "aligned", "split": "test"},
    ),
    command=CommandLine(text=texts.decoded_text),
    page=FormPage(started=_("Aligning words with regions.")),
)
