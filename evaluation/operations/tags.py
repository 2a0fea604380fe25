"""Operations on tags of images: choose by systems, list, show, download, remove."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, StoredThing, register_stored
from annotation.common.roles import RESEARCHER
from evaluation.operations import register
from evaluation.operations import set_texts as texts
from evaluation.services.predicting import PredictionSetsRequest
from evaluation.services.stored import remove_stored
from evaluation.services.stored_kinds import TAG_SETS
from evaluation.services.tagging import comparing, files, judging, scores, sets, user_tags, writing
from evaluation.services.tags import ranked

_SETS = StoredThing(
    kind=TAG_SETS,
    word="tag_set",
    words="tag_sets",
    titles=(_("List tag sets"), _("Show a tag set"), "", _("Remove a tag set")),
    path="tag-sets",
    roles=(RESEARCHER,),
    listing=PredictionSetsRequest,
    results=(sets.TagSetSummary, sets.TagSetDetail),
    summary=sets.tag_set_summary,
    detail=sets.tag_set_detail,
    narrow=lambda rows, request: rows.defer("vocabulary", "figures"),
    related=("corpus", "made_by"),
    remove=remove_stored,
    removed=_("Tag set removed."),
)
_ON_SET = Has((RESEARCHER,), on="tag_set", corpora=True)
_ON_CORPUS = Has((RESEARCHER,), on="corpus", corpora=True)
_ON_SYSTEM = Has((RESEARCHER,), on="system", corpora=True)

register_stored(_SETS)
register(
    title=_("Download tags"),
    result=File("application/octet-stream"),
    permission=_ON_SET,
    run=sets.download_tag_set,
    rest=Rest("GET", f"{_SETS.address}/file", "tag-sets"),
    page=FormPage(),
)
register(
    title=_("Import tags"),
    permission=_ON_CORPUS,
    run=files.import_tags,
    rest=Rest(
        "POST",
        "tag-sets",
        "tag-sets",
        route="tag_sets",
        own_transactions=True,
        creates="tag-sets/{name}",
        example={"name": "theirs", "corpus": "harbour", "split": "test"},
    ),
    command=CommandLine(positional=("name", "file"), text=texts.imported_tags_text),
    page=FormPage("evaluation:bring"),
)
register(
    name="tag",
    title=_("Tag images"),
    permission=_ON_SYSTEM,
    run=writing.tag_images,
    before_job=writing.check_tagging,
    as_job=True,
    rest=Rest("POST", "systems/<slug:system>/tags", "tag-sets", example={"split": "test"}),
    command=CommandLine(text=texts.tagged_text),
    page=FormPage(
        started=_("Tagging the images."),
    ),
)
register(
    title=_("Score tags"),
    permission=_ON_SET,
    run=scores.score_tags,
    before_job=scores.check_tag_scoring,
    as_job=True,
    rest=Rest("POST", "tag-scores", "tag-sets", example={"tag_set": "listwise", "split": "test"}),
    command=texts.report_command("tag_set", remarks=scores.remarks_on_tags, tables=scores.table_of_tags),
    page=FormPage(started=_("Scoring the tags. The figures will appear here.")),
)
register(
    title=_("Compare tags"),
    permission=Has((RESEARCHER,), corpora=True),
    run=comparing.compare_tags,
    before_job=comparing.check_tag_comparison,
    as_job=True,
    rest=Rest("POST", "tag-comparisons", "tag-sets", example={"sets": ["listwise", "theirs"]}),
    command=texts.comparison_command(comparing.remarks_on_tag_comparison),
    page=texts.comparison_page(_("The tags are being compared.")),
)
register(
    title=_("Import the tags of users"),
    permission=Has((RESEARCHER,), server=True),
    run=user_tags.import_user_tags,
    command=CommandLine(positional=("name",)),
)
register(
    title=_("Rank the tags of a corpus"),
    permission=_ON_CORPUS,
    run=ranked.rank_tags,
    before_job=ranked.check_tags,
    as_job=True,
    rest=Rest("POST", "tag-rankings", "tag-sets", example={"corpus": "harbour"}),
    command=CommandLine(positional=("corpus",), text=texts.stored_tags_text),
    page=FormPage(started=_("Ranking the tags.")),
)
register(
    title=_("Export the ranked tags of a corpus"),
    result=File("application/octet-stream"),
    permission=_ON_CORPUS,
    run=ranked.export_ranked_tags,
    command=CommandLine(positional=("corpus",)),
)
register(
    name="judge_tags",
    title=_("Mix tags to be judged"),
    permission=Has((RESEARCHER,), server=True),
    run=judging.mix_tags,
    before_job=judging.check_tag_mixing,
    as_job=True,
    rest=Rest(
        "POST",
        "tag-candidates",
        "tag-sets",
        example={"name": "candidates", "sets": ["tags"], "images": 40},
    ),
    command=CommandLine(positional=("name", "sets"), text=texts.mixed_tags_text),
    page=FormPage(
        started=_("Mixing the tags. Then open a batch of the new corpus’s runs, with the task of tags.")
    ),
)
