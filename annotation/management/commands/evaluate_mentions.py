"""`manage.py evaluate_mentions DIR`: the chunker and the categories against marked mentions."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandError, CommandParser

from annotation.common.plain_text import text_table
from annotation.formats import FORMATS
from annotation.management.base import ReportCommand, few_images, with_progress
from annotation.protocol.mention_scores import MentionScores, score_mentions, span_f1
from annotation.protocol.mentions import find_mentions
from annotation.protocol.terms import CATEGORIES

PRINTED = 10
LEVEL = 0.95


class Command(ReportCommand):
    help = (
        "Find the mentions in the captions of a folder in Flickr30k Entities notation, and compare them with "
        "those marked there: span precision, recall and F1 (chain 0 left out) with a bootstrap interval over "
        "images, agreement of categories, and the commonest errors. docs/mentions.md says what is counted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, metavar="DIR", help="A folder with Sentences/ID.txt")
        parser.add_argument("--seed", type=int, default=1, help="Seed of the bootstrap")
        parser.add_argument("--resamples", type=int, default=1000, help="Bootstrap resamples (default 1000)")

    def report(self, **options: Any) -> dict[str, Any]:
        if options["resamples"] < 1:
            raise CommandError(f"--resamples is {options['resamples']}; expected at least 1")
        per_image, captions = [], 0
        for record in with_progress(FORMATS.get("entities").read(options["folder"]), what="images"):
            if record.layer is not None:
                captions += len(record.captions)
                mentions = find_mentions([caption.words for caption in record.captions])
                per_image.append(score_mentions(mentions, record.layer))
        total = MentionScores()
        for scores in per_image:
            total += scores
        if not total.gold:
            raise CommandError(
                f"{options['folder']}: its sentences mark no mention; expected [/EN#<chain>/<type> words]"
            )
        return {
            "images": len(per_image),
            "captions": captions,
            "gold": total.gold,
            "predicted": total.predicted,
            "matched": total.matched,
            "precision": total.precision,
            "recall": total.recall,
            "f1": total.f1,
            "interval": _interval(per_image, seed=options["seed"], resamples=options["resamples"]),
            "interval_remark": few_images(len(per_image)),
            "category_agreement": total.category_agreement,
            "categories": _by_category(total),
            "errors": {kind: _commonest(phrases) for kind, phrases in total.errors.items()},
        }

    def show(self, report: dict[str, Any]) -> str:
        low, high = report["interval"]
        remark = f"; {report['interval_remark']}" if report["interval_remark"] else ""
        between = f"{LEVEL:.0%} bootstrap interval over images {low:.3f} to {high:.3f}{remark}"
        lines = [
            f"{report['images']} images, {report['captions']} captions, {report['gold']} marked mentions",
            f"predicted {report['predicted']}, matched {report['matched']}",
            f"precision {report['precision']:.3f}, recall {report['recall']:.3f}",
            f"F1 {report['f1']:.3f} ({between})",
            f"same categories on matched mentions: {report['category_agreement']:.3f}",
            "",
            text_table(
                ["category", "matched", "agreed"],
                [[c["category"], c["matched"], c["agreed"]] for c in report["categories"]],
            ),
        ]
        for kind, errors in report["errors"].items():
            lines += ["", f"{kind}: {errors['count']}"]
            lines += [f"  {example['times']:>4}  {example['phrase']}" for example in errors["examples"]]
        return "\n".join(lines)


def _interval(per_image: Sequence[MentionScores], *, seed: int, resamples: int) -> list[float]:
    """Return the percentile bootstrap interval of F1, drawing whole images: captions of one image are
    alike."""
    counts = np.array([(s.gold, s.predicted, s.matched) for s in per_image])  # (images, 3)
    rng = np.random.default_rng(seed)
    f1 = [
        span_f1(*counts[rng.integers(len(counts), size=len(counts))].sum(axis=0).tolist())
        for _ in range(resamples)
    ]
    return [float(q) for q in np.quantile(f1, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])]


def _by_category(scores: MentionScores) -> list[dict[str, Any]]:
    """Return for each marked category, in the order of Table 1, its matched mentions, and how many agree."""
    known = [c for c in CATEGORIES if c in scores.compared]
    others = sorted(c for c in scores.compared if c not in CATEGORIES)
    return [
        {"category": c, "matched": scores.compared[c], "agreed": scores.agreed[c]} for c in (*known, *others)
    ]


def _commonest(phrases: Counter[str]) -> dict[str, Any]:
    """Return the number of errors, and the phrases with most of them; ties in alphabetical order, so that
    runs agree."""
    ordered = sorted(phrases.items(), key=lambda item: (-item[1], item[0]))
    return {
        "count": phrases.total(),
        "examples": [{"phrase": phrase, "times": times} for phrase, times in ordered[:PRINTED]],
    }
