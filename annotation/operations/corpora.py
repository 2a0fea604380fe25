"""Corpora and their images: listed, shown, deleted; licence, tags, phrases; a picture withdrawn."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.campaigns import phrases
from annotation.common.operations import CommandLine, File, FormPage, Has, Rest, register
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets import corpus_summaries, importing
from annotation.datasets.contents import arrow_tables, figures, images
from annotation.jobs.kinds import delete_corpus as deleting
from annotation.moderation import withdrawing
from annotation.operations.texts.datasets import dataset_text, imported_corpus_text

_READS = Has((REVIEWER, RESEARCHER), on="corpus")
_RUNS = Has((RESEARCHER,), on="corpus")
_PATH = "corpora/<slug:corpus>"
_IMAGE = f"{_PATH}/images/<str:image>"


def _withdrawn(result: withdrawing.PictureWithdrawal) -> str:
    corpora = list(result.corpora)
    if result.others:
        others = ngettext("%(count)d other corpus", "%(count)d other corpora", result.others)
        corpora.append(others % {"count": result.others})
    return _("Picture withdrawn from %(corpora)s, with %(tasks)s and %(exports)s.") % {
        "corpora": ", ".join(corpora),
        "tasks": ngettext("%(n)d open task", "%(n)d open tasks", result.tasks) % {"n": result.tasks},
        "exports": ngettext("%(n)d export", "%(n)d exports", result.exports) % {"n": result.exports},
    }


register(
    title=_("List corpora"),
    result=corpus_summaries.CorpusSummary,
    permission=Has((REVIEWER, RESEARCHER)),
    run=corpus_summaries.list_corpora,
    rest=Rest("GET", "corpora", "corpora", route="corpora"),
)
register(
    title=_("Show a corpus"),
    permission=_READS,
    run=corpus_summaries.show_corpus,
    rest=Rest("GET", _PATH, "corpora", route="corpus"),
)
register(
    title=_("List the layers of a corpus"),
    result=corpus_summaries.LayerSummary,
    permission=_READS,
    run=corpus_summaries.list_layers,
    rest=Rest("GET", f"{_PATH}/layers", "corpora", route="layers"),
)
register(
    name="set_licence",
    title=_("Set the licence of a corpus"),
    permission=_RUNS,
    run=corpus_summaries.set_named_licence,
    rest=Rest("PATCH", _PATH, "corpora", route="corpus", example={"licence": "CC BY 4.0"}),
    page=FormPage(done=_("Licence saved: datasheets of exports have it from now on.")),
)
register(
    name="delete_corpus",
    title=_("Delete a corpus"),
    permission=_RUNS,
    run=deleting.delete_named_corpus,
    rest=Rest("DELETE", _PATH, "corpora", route="corpus"),
    page=FormPage(done=_("Corpus deleted."), sure=_("I understand that this cannot be undone")),
)
register(
    name="withdraw_picture",
    title=_("Withdraw a picture"),
    permission=_RUNS,
    run=withdrawing.withdraw_named_picture,
    command=CommandLine(positional=("corpus", "image")),
    page=FormPage(done=_withdrawn, sure=_("I understand that this cannot be undone")),
)
register(
    title=_("List the images of a corpus"),
    result=images.ImageSummary,
    permission=_READS,
    run=images.list_images,
    rest=Rest("GET", f"{_PATH}/images", "corpora", route="images"),
)
register(
    title=_("Show an image"),
    permission=_READS,
    run=images.show_image,
    rest=Rest("GET", _IMAGE, "corpora", route="image"),
)
register(
    title=_("List the tags of a corpus"),
    result=images.TagOfCorpus,
    permission=_READS,
    run=images.list_corpus_tags,
    rest=Rest("GET", f"{_PATH}/tags", "corpora", route="corpus_tags"),
)
register(
    title=_("Show the phrases of an image"),
    request=phrases.PhrasesRequest,
    permission=_READS,
    run=phrases.show_phrases,
    rest=Rest("GET", f"{_IMAGE}/phrases", "corpora", route="phrases"),
)
register(
    name="mark_phrases",
    title=_("Mark the phrases of an image"),
    permission=_RUNS,
    run=phrases.mark_named_phrases,
    rest=Rest(
        "POST",
        f"{_IMAGE}/phrases",
        "corpora",
        route="phrases",
        example={"phrases": ["0:0-2", "0:4-6"]},
    ),
    page=FormPage(done=_("Phrases of %(image)s saved.")),
)
register(
    name="drop_phrase_marks",
    title=_("Go back to the phrases that the chunker finds"),
    permission=_RUNS,
    run=phrases.drop_named_marks,
    rest=Rest("DELETE", f"{_IMAGE}/phrases", "corpora", route="phrases"),
    page=FormPage(done=_("These are the phrases that are found in the captions.")),
)
register(
    title=_("Export the mentions of a layer as an Arrow stream"),
    result=File(arrow_tables.ARROW_TYPE),
    permission=_READS,
    run=arrow_tables.export_mention_table,
    rest=Rest("GET", f"{_PATH}/layers/<slug:layer>/mentions.arrow", "streams", route="layer_mentions"),
)
register(
    name="dataset_stats",
    title=_("Show the figures of a layer"),
    permission=_READS,
    run=figures.dataset_figures,
    command=CommandLine(positional=("corpus",), text=dataset_text),
)
register(
    name="import_corpus",
    title=_("Import a corpus"),
    permission=Has((RESEARCHER,), server=True),
    run=importing.import_named_corpus,
    errors=(OSError,),
    command=CommandLine(positional=("name", "path"), text=imported_corpus_text),
)
