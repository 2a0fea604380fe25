"""What commands about systems print."""

from evaluation.services.alignments.decoding import Decoded
from evaluation.services.runs.ranking import RankedRuns
from evaluation.services.systems.training import Trained
from evaluation.services.systems.upload import AddedSystem
from models_core.processes import is_first_process


def ranked_text(ranked: RankedRuns) -> str:
    """The runs, and what the system has seen of their images."""
    lines = [
        f"run {one.run!r}: {one.queries} queries, {one.items} items each, "
        f"{'already exists, nothing changed' if one.unchanged else 'stored'}"
        for one in ranked.runs
    ]
    # Both directions are of the same vectors and images.
    lines += dict.fromkeys(remark for one in ranked.runs for remark in one.remarks)
    lines += dict.fromkeys(one.provenance["sentence"] for one in ranked.runs)
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
    if (found := decoded.localized) is not None:
        lines.append(
            f"of {found.mentions} mentions with boxes {found.share:.1%} are found "
            f"({found.low:.1%} to {found.high:.1%}); by a region at random {found.random:.1%}, "
            f"by the largest {found.largest:.1%}, by the best of all {found.possible:.1%}"
        )
    return "\n".join(lines)


def trained_text(trained: Trained) -> str:
    """The system, and what it learned from; nothing where another process says it."""
    if not is_first_process():
        return ""
    images = f"{trained.training} training and {trained.held_out} held-out images"
    lines = [f"{images} of corpus {trained.corpus!r}; {trained.left_out} of its images cannot be used"]
    if number := trained.background_lines:
        dropped = f"dropped {trained.background_dropped:,} of {number:,} lines, captions of the corpus"
        lines.append(f"background text: {dropped}")
    if trained.mentions or trained.mentions_left_out:
        left = f"{trained.mentions_left_out:,} are of none, and left out"
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
