"""What commands about systems print."""

from __future__ import annotations

from evaluation.services.alignments.decoding import Decoded
from evaluation.services.runs.ranking import RankedRuns


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
