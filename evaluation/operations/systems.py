"""Operations on systems: list, archive, remove, train; rank with them."""

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import CommandLine, FormPage, Has, Rest, register_stored
from annotation.common.roles import RESEARCHER
from evaluation.comparison.comparisons import figure_value
from evaluation.operations import register
from evaluation.services.alignments import decoding
from evaluation.services.alignments.decoding import Decoded
from evaluation.services.runs import ranking
from evaluation.services.runs.ranking import RankedRuns
from evaluation.services.systems import listing, training, training_requests, upload
from evaluation.services.systems.training import Trained
from evaluation.services.systems.upload import AddedSystem
from models_core.processes import is_first_process


def ranked_text(ranked: RankedRuns) -> str:
    """Return the runs with their figures, and what the system has seen of their images."""
    lines = []
    for run in ranked.runs:
        end = "already exists, nothing changed" if run.unchanged else "stored"
        lines.append(f"run {run.run!r}: {run.queries} queries, {run.items} items each, {end}")
        if run.figures:
            values = ", ".join(f"{name} {figure_value(name, value)}" for name, value in run.figures.items())
            lines.append(f"  {values}: {run.queries} queries, {run.basis['pool']}; {run.basis['protocol']}")
    # Both directions have the same vectors and images.
    lines += dict.fromkeys(remark for run in ranked.runs for remark in run.remarks)
    lines += dict.fromkeys(run.provenance["sentence"] for run in ranked.runs)
    return "\n".join(lines)


def decoded_text(decoded: Decoded) -> str:
    """Return the layer, and how many of people's boxes it localizes."""
    counts = f"{decoded.mentions} mentions in {decoded.chains} chains; beta {decoded.beta:g}"
    lines = [
        f"layer {decoded.layer!r} of corpus {decoded.corpus!r} written: {decoded.images} images, {counts}",
        *(f"  beta {beta:g}: {share:.1%} found" for beta, share in decoded.tried),
    ]
    if decoded.chosen_on:
        number = decoded.chosen_on
        lines.append(f"beta was chosen on {number} of these images, so what is found there is not told")
    if (localized := decoded.localized) is not None:
        lines.append(
            f"of {localized.mentions} mentions with boxes {localized.share:.1%} are found "
            f"({localized.low:.1%} to {localized.high:.1%}); by a region at random {localized.random:.1%}, "
            f"by the largest {localized.largest:.1%}, by the best of all {localized.possible:.1%}"
        )
    return "\n".join(lines)


def trained_text(trained: Trained) -> str:
    """Return the system, and what it was trained on; empty where another process prints it."""
    if not is_first_process():
        return ""
    images = f"{trained.training} training and {trained.held_out} held-out images"
    lines = [f"{images} of corpus {trained.corpus!r}; {trained.excluded} of its images cannot be used"]
    if number := trained.background_lines:
        removed = f"dropped {trained.background_excluded:,} of {number:,} lines, captions of the corpus"
        lines.append(f"background text: {removed}")
    if trained.mentions or trained.mentions_excluded:
        left = f"{trained.mentions_excluded:,} are of none, and left out"
        lines.append(f"{trained.mentions:,} mentions with boxes are those of a region; {left}")
    if trained.keep_last:
        lines.append("nothing was chosen: the last model stays, with the first value of each setting")
    end = "already exists, nothing changed" if trained.unchanged else "trained"
    lines.append(f"system {trained.system!r} ({trained.recipe}) {end}")
    lines += [*trained.selection, *trained.remarks, f"{trained.folder}, SHA-256 {trained.sha256}"]
    return "\n".join(lines)


def added_text(added: AddedSystem) -> str:
    """Return the content of the files, and the result."""
    end = "already exists, nothing changed" if added.unchanged else "stored"
    wide = f", {added.dimensions} dimensions" if added.dimensions else ""
    return "\n".join(
        (
            f"{added.images} images, {added.captions} captions of corpus {added.corpus!r}{wide}",
            *added.remarks,
            f"system {added.system!r} ({added.format}) {end}",
            f"SHA-256 {added.sha256}",
        )
    )


_RESEARCHES = Has((RESEARCHER,), corpora=True)
_ON_SYSTEM = Has((RESEARCHER,), on="system", corpora=True)
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
    as_job=True,
    rest=Rest(
        "POST",
        "systems",
        "systems",
        route="systems",
        example={"name": "first", "corpus": "harbour", "recipe": "NN5-F1", "held_out": "val"},
    ),
    command=CommandLine(positional=("name",), text=trained_text),
    page=FormPage("evaluation:train", started=_("Training the system.")),
)
register(
    title=_("Add a system"),
    permission=_ON_CORPUS,
    run=upload.add_system,
    rest=Rest(
        "POST",
        "system-uploads",
        "systems",
        own_transactions=True,
        creates="systems/{system}",
        example={"name": "sent", "corpus": "harbour", "format": "scores"},
    ),
    command=CommandLine(positional=("name", "file"), text=added_text),
    page=FormPage("evaluation:bring"),
)
register(
    name="rank",
    title=_("Rank with a system"),
    permission=_ON_SYSTEM,
    run=ranking.rank_system,
    before_job=ranking.check_ranking,
    as_job=True,
    rest=Rest("POST", "systems/<slug:system>/rank", "systems", example={"split": "test"}),
    command=CommandLine(text=ranked_text),
    page=FormPage(started=_("Ranking the images and captions.")),
)
register(
    title=_("Align words with regions"),
    permission=_ON_SYSTEM,
    run=decoding.decode_alignments,
    before_job=decoding.check_decoding,
    as_job=True,
    rest=Rest(
        "POST",
        "systems/<slug:system>/segments",
        "systems",
        example={"layer": "aligned", "split": "test"},
    ),
    command=CommandLine(text=decoded_text),
    page=FormPage(started=_("Aligning words with regions.")),
)
