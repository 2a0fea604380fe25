"""What commands about systems print."""

from evaluation.services.alignments.decoding import Decoded
from evaluation.services.runs.ranking import RankedRuns
from evaluation.services.systems.training import Trained
from evaluation.services.systems.upload import AddedSystem
from models_core.processes import is_first_process


def ranked_text(ranked: RankedRuns) -> str:
    """The runs, and what the system has seen of their images."""
    lines = [
        f"run {run.run!r}: {run.queries} queries, {run.items} items each, "
        f"{'already exists, nothing changed' if run.unchanged else 'stored'}"
        for run in ranked.runs
    ]
    # Both directions are of the same vectors and images.
    lines += dict.fromkeys(remark for run in ranked.runs for remark in run.remarks)
    lines += dict.fromkeys(run.provenance["sentence"] for run in ranked.runs)
    return "\n".join(lines)


def decoded_text(decoded: Decoded) -> str:
    """The layer, and how much of people's boxes it finds."""
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
    """The system, and what it learned from; nothing where another process says it."""
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
    end = "already exists, nothing changed" if trained.unchanged else "trained"
    lines.append(f"system {trained.system!r} ({trained.recipe}) {end}")
    lines += [*trained.selection, *trained.remarks, f"{trained.folder}, SHA-256 {trained.sha256}"]
    return "\n".join(lines)


def added_text(added: AddedSystem) -> str:
    """What the files hold, and what became of it."""
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
