"""Operations on corpora and their images: list, show, delete; licence, tags, phrases; withdraw a picture."""

from collections import Counter
from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotation.campaigns import phrases
from annotation.common.operations import (
    CommandLine,
    File,
    FormPage,
    Has,
    Rest,
    register,
)
from annotation.common.roles import RESEARCHER, REVIEWER
from annotation.datasets import layer_imports
from annotation.datasets.contents import arrow_tables, corpus_summaries, images
from annotation.datasets.intake import ImportReport
from annotation.datasets.source_problems import NO_CAPTION, NO_PICTURE, SourceProblem
from annotation.jobs.kinds import corpus_imports
from annotation.jobs.kinds import delete_corpus as deleting
from annotation.moderation import withdrawn_pictures
from phrasebox.figure_basis import FigureBasis
from phrasebox.figure_tables import Table


def imported_corpus_text(result: ImportReport) -> str:
    """Return the result of an import."""
    listed = result.skipped or result.dry_run
    lines = [*map(str, result.problems if listed else ())]
    if result.problems:
        lines.append(_problems_in_words(result.problems, skipped=result.skipped, dry_run=result.dry_run))
    lines.append(f"{result.images} images, {result.captions} captions, {result.pictures} pictures")
    lines += [f"campaign {name!r} asks about {asked} of them" for name, asked in result.campaigns.items()]
    if result.layer:
        lines.append(
            f"layer {result.layer!r}: {result.mentions} mentions in {result.chains} chains, "
            f"{result.boxes} boxes, {result.not_visual} mentions that are not visual"
        )
    if result.layer and result.covered < result.images:
        lines.append(f"the layer covers {result.covered} of the {result.images} images")
    if result.dry_run:
        lines.append("nothing was stored")
    elif result.unchanged:
        there = "has these images" if result.added else "already exists"
        lines.append(f"corpus {result.corpus!r} {there}, nothing changed")
    elif result.added:
        lines.append(f"added to corpus {result.corpus!r}")
    else:
        lines.append(f"corpus {result.corpus!r} imported")
    return "\n".join([*lines, f"{result.seconds:.1f} s"])


def imported_layer_text(result: layer_imports.ImportedLayer) -> str:
    """Return the contents of a layer."""
    lines = [f"{name}: {number:,}" for name, number in _imported_layer_rows(result)]
    return "\n".join([*lines, f"layer {result.layer!r} of corpus {result.corpus!r} imported"])


def _imported_layer_rows(result: layer_imports.ImportedLayer) -> list[tuple[str, int]]:
    rows = [
        (_("images"), result.images),
        (_("boxes"), result.boxes),
        (_("things"), result.chains),
        (_("different labels"), result.labels),
        (_("phrases of their own"), result.phrases),
        (_("phrases that are captions"), result.mentions),
        (_("boxes rounded to whole pixels"), result.rounded),
        (_("boxes cut to their picture"), result.clipped),
    ]
    return [(str(name), number) for name, number in rows if number]


def _imported_layer_tables(result: layer_imports.ImportedLayer) -> dict[str, Table]:
    head = [str(_("imported")), str(_("number"))]
    basis = FigureBasis(notes=(f"Layer {result.layer} of corpus {result.corpus}.",))
    return {"": Table(head, _imported_layer_rows(result), basis=basis)}


def _problems_in_words(problems: Sequence[SourceProblem], *, skipped: bool, dry_run: bool) -> str:
    """Return the number of problems, and how they were handled."""
    blocking = sum(problem.blocks for problem in problems)
    if dry_run:
        rest = f"of which {blocking} end an import that skips none"
        return f"{len(problems)} problem{'s' * (len(problems) != 1)}, {rest}"
    if skipped:
        return f"left out {len(problems)} problem{'s' * (len(problems) != 1)}: those listed, nothing else"
    counts = Counter(problem.sort for problem in problems)
    return "; ".join(
        [
            *([f"{counts[NO_PICTURE]} images have no picture"] if counts[NO_PICTURE] else []),
            *([f"{counts[NO_CAPTION]} images have no caption"] if counts[NO_CAPTION] else []),
            "a dry run lists them, and they can be skipped",
        ]
    )


_READS = Has((REVIEWER, RESEARCHER), on="corpus")
_RUNS = Has((RESEARCHER,), on="corpus")
_PATH = "corpora/<slug:corpus>"
_IMAGE = f"{_PATH}/images/<str:image>"


def _withdrawn(result: withdrawn_pictures.PictureWithdrawal) -> str:
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
    title=_("Import a layer"),
    permission=_RUNS,
    run=layer_imports.import_layer,
    rest=Rest(
        "POST",
        f"{_PATH}/layers",
        "corpora",
        route="layers",
        own_transactions=True,
        example={"layer": "boxes", "format": "cvat"},
    ),
    command=CommandLine(positional=("corpus", "layer", "file"), text=imported_layer_text),
    page=FormPage(tables=_imported_layer_tables),
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
    title=_("Let the pictures of a corpus leave the server, or not"),
    permission=_RUNS,
    run=corpus_summaries.set_pictures_may_leave,
    rest=Rest("POST", f"{_PATH}/pictures-may-leave", "corpora", example={"may_leave": True}),
    page=FormPage(done=_("Saved.")),
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
    run=withdrawn_pictures.withdraw_named_picture,
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
    name="import_corpus",
    title=_("Import a corpus"),
    permission=Has((RESEARCHER,), server=True),
    run=corpus_imports.import_named_corpus,
    errors=(OSError,),
    command=CommandLine(positional=("name", "path"), text=imported_corpus_text),
)
