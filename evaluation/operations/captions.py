"""Operations on captions of systems: write, score, mix for judging, list, show, download, remove."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, StoredThing, register_stored
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.operations import set_texts as texts
from evaluation.services.captions import files, judging, scoring, sets, writing
from evaluation.services.captions.figures import tables_of_captions
from evaluation.services.predicting import PredictionSetsRequest
from evaluation.services.stored import remove_stored
from evaluation.services.stored_kinds import CAPTION_SETS

_SETS = StoredThing(
    kind=CAPTION_SETS,
    word="caption_set",
    words="caption_sets",
    titles=(_("List caption sets"), _("Show a caption set"), "", _("Remove a caption set")),
    path="caption-sets",
    roles=(RESEARCHER,),
    listing=PredictionSetsRequest,
    results=(sets.CaptionSetSummary, sets.CaptionSetSummary),
    summary=sets.caption_set_summary,
    detail=sets.caption_set_summary,
    related=("corpus", "made_by"),
    remove=remove_stored,
    removed=_("Caption set removed."),
)
_ON_SET = Has((RESEARCHER,), on="caption_set", corpora=True)
_ON_SYSTEM = Has((RESEARCHER,), on="system", corpora=True)

register_stored(_SETS)
register(
    title=_("Download captions"),
    result=File("application/json"),
    permission=_ON_SET,
    run=sets.download_caption_set,
    rest=Rest("GET", f"{_SETS.address}/coco", "caption-sets"),
    page=FormPage(),
)
register(
    title=_("Import captions"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=files.import_captions,
    rest=Rest(
        "POST",
        "caption-sets",
        "caption-sets",
        route="caption_sets",
        own_transactions=True,
        creates="caption-sets/{name}",
        example={"name": "theirs", "corpus": "harbour", "split": "test"},
    ),
    command=CommandLine(positional=("name", "file"), text=texts.imported_captions_text),
    page=FormPage("evaluation:bring"),
)
register(
    title=_("Write captions"),
    permission=_ON_SYSTEM,
    run=writing.generate_captions,
    before_job=writing.check_captions,
    as_job=True,
    rest=Rest("POST", "systems/<slug:system>/captions", "caption-sets", example={"split": "test"}),
    command=CommandLine(text=texts.written_text),
    page=FormPage(
        started=_("Writing captions."),
    ),
)
register(
    name="score_captions",
    title=_("Score captions"),
    permission=Has((RESEARCHER,), on="corpus", corpora=True),
    run=scoring.score_written_captions,
    command=texts.report_command(
        "corpus",
        "captions",
        remarks=texts.with_comparison(scoring.remarks_on_scored),
        tables=tables_of_captions,
    ),
)
register(
    title=_("Compare captions"),
    permission=Has((RESEARCHER,), corpora=True),
    run=scoring.compare_captions,
    before_job=scoring.check_caption_comparison,
    as_job=True,
    rest=Rest("POST", "caption-comparisons", "caption-sets", example={"sets": ["mrnn", "theirs"]}),
    command=texts.comparison_command(scoring.remarks_on_scored),
    page=texts.comparison_page(_("The captions are being compared.")),
)
register(
    name="judge_captions",
    title=_("Mix captions to be judged"),
    permission=Has((RESEARCHER,), server=True),
    run=judging.mix_captions,
    before_job=judging.check_mixing,
    as_job=True,
    rest=Rest(
        "POST",
        "caption-candidates",
        "caption-sets",
        example={"name": "candidates", "sets": ["captions"], "people": 1},
    ),
    command=CommandLine(positional=("name", "sets"), text=texts.mixed_text),
    page=FormPage(
        started=_("Mixing the captions. Then open a batch of the new corpus’s runs, with grades and depth 1.")
    ),
)
