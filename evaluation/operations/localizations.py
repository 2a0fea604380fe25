"""Operations on localizations of phrases: predict, list, show, download, remove."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, StoredThing, register_stored
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.operations import set_texts as texts
from evaluation.services.localizations import comparing, files, listing, predicting, proposals, scores, sets
from evaluation.services.localizations.tables import remarks_on_localization, tables_of_localization
from evaluation.services.predicting import PredictionSetsRequest
from evaluation.services.stored import remove_stored
from evaluation.services.stored_kinds import LOCALIZATION_SETS

_SETS = StoredThing(
    kind=LOCALIZATION_SETS,
    word="localization_set",
    words="localization_sets",
    titles=(_("List localization sets"), _("Show a localization set"), "", _("Remove a localization set")),
    path="localization-sets",
    roles=(RESEARCHER,),
    listing=PredictionSetsRequest,
    results=(sets.LocalizationSetSummary, listing.LocalizationSetDetail),
    summary=sets.localization_set_summary,
    detail=listing.localization_set_detail,
    narrow=lambda rows, request: rows.defer("scores"),
    related=("corpus", "made_by"),
    remove=remove_stored,
    removed=_("Localization set removed."),
)
_ON_SET = Has((RESEARCHER,), on="localization_set", corpora=True)
_ON_SYSTEM = Has((RESEARCHER,), on="system", corpora=True)

register_stored(_SETS)
register(
    title=_("Download localizations"),
    result=File("application/octet-stream"),
    permission=_ON_SET,
    run=listing.download_localization_set,
    rest=Rest("GET", f"{_SETS.address}/jsonl", "localization-sets"),
    page=FormPage(),
)
register(
    title=_("Localize phrases"),
    permission=_ON_SYSTEM,
    run=predicting.localize,
    before_job=predicting.check_localizing,
    as_job=True,
    rest=Rest(
        "POST",
        "systems/<slug:system>/localizations",
        "localization-sets",
        example={"regions": "proposals:1", "split": "test"},
    ),
    command=CommandLine(text=texts.localized_text),
    page=FormPage(
        started=_("Localizing phrases."),
    ),
)
register(
    title=_("Import localizations of phrases"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=files.import_localizations,
    rest=Rest(
        "POST",
        "localization-sets",
        "localization-sets",
        route="localization_sets",
        own_transactions=True,
        creates="localization-sets/{name}",
        example={"name": "theirs", "corpus": "harbour", "split": "test"},
    ),
    command=CommandLine(positional=("name", "file"), text=texts.imported_localizations_text),
    page=FormPage("evaluation:bring"),
)
register(
    title=_("Score localizations"),
    permission=_ON_SET,
    run=scores.score_localization,
    before_job=scores.check_localization_scoring,
    as_job=True,
    rest=Rest("POST", f"{_SETS.address}/score", "localization-sets", example={"layer": "import"}),
    command=texts.report_command(
        "localization_set", remarks=remarks_on_localization, tables=tables_of_localization
    ),
    page=FormPage(started=_("The localizations are being scored.")),
)
register(
    title=_("Compare localizations"),
    permission=Has((RESEARCHER,), corpora=True),
    run=comparing.compare_localizations,
    before_job=comparing.check_localization_comparison,
    as_job=True,
    rest=Rest("POST", "localization-comparisons", "localization-sets", example={"sets": ["cca", "theirs"]}),
    command=texts.comparison_command(comparing.remarks_on_localization_comparison),
    page=texts.comparison_page(_("The localizations are being compared.")),
)
register(
    title=_("Score proposed regions"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=proposals.score_proposals,
    command=texts.report_command(
        "corpus",
        "regions",
        remarks=proposals.remarks_on_proposals,
        tables=proposals.table_of_proposals,
    ),
)
