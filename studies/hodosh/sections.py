"""The figures in the text of Hodosh et al. 2013: sections 3.5.3, 4.2.1, 4.2.2 and 4.3.2."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from phrasebox.agreement.coefficients import MEASUREMENT_LEVELS, as_ratings, krippendorff
from phrasebox.relevance.qrels import RELEVANCE_RULES, QrelsSettings, freeze_pairs
from phrasebox.text.stopwords import STOP_WORDS
from studies.hodosh import printed
from studies.hodosh.cells import COUNT, KAPPA, PERCENT, PrintedCell
from studies.hodosh.conventions import Conventions
from studies.hodosh.evidence import REFERENCES, Evidence
from studies.hodosh.measures import (
    PrintedFigure,
    against_experts,
    bleu_and_rouge,
    cell_of,
    expert_row,
    lay_against_experts,
    lay_scores,
    top,
)

FEWEST = 5
#: The level of the printed alpha, most likely: grades from 1 to 4, which are averaged.
MEANT = "interval"


def vocabulary(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield the frequent words of the lemmatised training captions, which determine the stop list."""
    counts = Counter(
        word for captions in evidence.training_lemmas for text in captions for word in text.lower().split()
    )
    stop_words = STOP_WORDS if conventions.stop_words else frozenset()
    frequent = [
        word
        for word, count in counts.items()
        if count >= FEWEST and word not in stop_words and any(sign.isalnum() for sign in word)
    ]
    yield PrintedCell(
        "Section 3.5.3",
        "training captions",
        f"words of frequency {FEWEST} or more",
        printed.VOCABULARY,
        float(len(frequent)),
        COUNT,
        "Section 3.5.3",
    )


def alpha(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield Krippendorff's alpha of the experts; the paper names no level, so each is compared with the one
    figure.

    It counts once, at the most likely level.
    """
    ratings = as_ratings([pair.grades for pair in evidence.experts.pairs])
    for level in MEASUREMENT_LEVELS:
        yield cell_of(
            krippendorff(ratings, level=level),
            PrintedFigure(
                "Section 4.2.1",
                "Krippendorff's alpha of experts",
                level,
                printed.ALPHA,
                KAPPA,
                "Section 4.2.1",
            ),
            note="the paper prints one alpha and names no level",
            again="" if level == MEANT else f"Section 4.2.1, {MEANT}",
        )


def nonzero(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield section 4.2.2: pairs that share a word, and two consecutive words."""
    for order, (name, value) in enumerate(printed.NONZERO.items(), start=1):
        overlap = evidence.content_overlap(REFERENCES["R5"], conventions, order=order)
        ours = 100 * float((overlap.all_precisions() > 0).mean())
        yield PrintedCell(
            "Section 4.2.2", "all pairs", f"{name} above 0", value, ours, PERCENT, "Section 4.2.2, non-zero"
        )


def best_kappas(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield section 4.2.2: the best agreement of each measure in the text; most are also in Tables 8 and
    9."""
    for best in printed.BEST_KAPPAS:
        scores = bleu_and_rouge(evidence, best.references, conventions)[best.measure == "ROUGE"]
        cut = top(best.threshold, conventions) if best.threshold == 1 else best.threshold
        row = printed.EXPERT.index(best.expert)
        yield cell_of(
            against_experts(evidence, scores, [cut], conventions)[row][0],
            PrintedFigure(
                "Section 4.2.2",
                f"{best.references}, {expert_row(best.expert)}",
                f"{best.measure} {'=' if best.threshold == 1 else '>='} {best.threshold:g}",
                best.kappa,
                KAPPA,
                "Section 4.2.2, best kappas",
            ),
            again=_in_tables(best),
        )


def _in_tables(best: printed.BestKappa) -> str:
    """Return the table with the same figure, if there is one."""
    for block in printed.BLOCKS:
        heads = block.rouge if best.measure == "ROUGE" else block.bleu
        if block.references == best.references and best.threshold in heads:
            return block.table
    return ""


def filters(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield section 4.3.2: what thresholds of BLEU_pre and BLEU remove, of all pairs and of good ones."""
    experts = evidence.experts
    for cut in printed.PRINTED_FILTERS:
        overlap_of = evidence.content_overlap if cut.preprocessed else evidence.bleu_overlap
        scores = overlap_of(REFERENCES["R5"], conventions).all_precisions()
        remaining = scores > cut.threshold if cut.above or conventions.strict else scores >= cut.threshold
        judged_kept = remaining[experts.images, experts.captions]
        for column, kept_of, value in (
            ("all pairs removed", remaining, cut.removed),
            ("expert >= 2.66 removed", judged_kept[experts.means >= printed.GOOD], cut.lost_good),
            ("expert >= 3 removed", judged_kept[experts.means >= printed.BETTER], cut.lost_better),
        ):
            if value is not None:
                ours = 100 * (1 - float(kept_of.mean()))
                yield PrintedCell(
                    "Section 4.3.2", cut.name, column, value, ours, PERCENT, "Section 4.3.2, filter"
                )


def crowd_section(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield section 4.3.2: the number of judged pairs, and the answers on those that the filter removed."""
    family, table, judged = "Section 4.3.2, crowd", "Section 4.3.2", evidence.crowd
    overlap = evidence.content_overlap(REFERENCES["R5"], conventions)
    scores, cut = overlap.precision(judged.images, judged.captions), printed.PRINTED_FILTERS[0].threshold
    removed = scores <= cut if conventions.strict else scores < cut
    unpublished = "the top ten of the 30 systems were not published"
    total = printed.TARGET_REMAINING + printed.REMOVED_YET_JUDGED
    note = (
        f"the file holds {len(removed):,} judged pairs where print counts {total:,}, "
        "and does not mark which; of all that it holds"
    )
    number_removed = int(removed.sum())
    for row, value, unit, why in (
        ("pairs in the systems' top ten", printed.TARGET_PAIRS, COUNT, unpublished),
        ("of these removed by the filter", printed.TARGET_REMOVED, PERCENT, unpublished),
        (
            "of these kept by the filter",
            printed.TARGET_REMAINING,
            COUNT,
            f"{note}, {len(removed) - number_removed:,} are kept",
        ),
        ("removed yet judged", printed.REMOVED_YET_JUDGED, COUNT, f"{note}, {number_removed:,} are removed"),
    ):
        yield PrintedCell(table, row, "pairs", float(value), None, unit, family, why=why)
    for column, value, ours in (
        ("all judges said no", printed.REMOVED_ALL_NO, (judged.means[removed] == 0).mean()),
        ("most judges said no", printed.REMOVED_MOST_NO, (judged.means[removed] < 0.5).mean()),
    ):
        yield PrintedCell(table, "removed yet judged", column, value, 100 * float(ours), PERCENT, family)


def crowd_against_experts(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield section 4.3.2: the figures of lay judges at 0.66 in the text, all of which are also in Table
    10."""
    family, table = "Section 4.3.2, crowd against experts", "Section 4.3.2"
    lay = lay_scores(evidence, conventions.unjudged_in_kappa)
    kappas = against_experts(evidence, lay, [printed.LAY_RELEVANT], conventions)
    estimate = kappas[printed.EXPERT.index(3.3)][0]
    yield cell_of(
        estimate,
        PrintedFigure(table, "expert >= 3.33", "lay >= 0.66", printed.BEST_LAY_KAPPA, KAPPA, family),
        again="Table 10(a)",
    )
    perfect, almost, good = (lay_against_experts(evidence, at, conventions) for at in (4.0, 3.6, 2.6))
    for row, column, estimate, value in (
        ("expert = 4", "recall", perfect.recall, printed.RECALL_PERFECT),
        ("expert >= 3.66", "recall", almost.recall, printed.RECALL_ALMOST),
        ("expert >= 2.66", "precision", good.precision, printed.PRECISION_GOOD),
    ):
        yield cell_of(
            estimate,
            PrintedFigure(table, row, f"lay >= 0.66, {column}", value, PERCENT, family),
            again="Table 10(b)",
        )


def relevant_pairs(evidence: Evidence, conventions: Conventions) -> Iterator[PrintedCell]:
    """Yield section 4.3.2: relevant pairs, the number of captions of an image, and of images of a caption.

    The paper has three rules (at least 0.66, two of three judges, the majority), and no figure that
    distinguishes them for pairs with four and six answers: the results of the other rules are noted beside
    each cell.
    """
    family, table = "Section 4.3.2, relevant pairs", "Section 4.3.2"
    numbers_of = _relevance_counts(evidence, conventions.qrels)
    others = {
        rule.name: _relevance_counts(evidence, replace(conventions.qrels, rule=rule))
        for rule in RELEVANCE_RULES
        if rule != conventions.rule
    }
    for row, column, value, misprinted in (
        ("relevant pairs", "besides the originals", printed.ADDED, False),
        *(
            (row, f"{number} or more {things}" if number == 4 else f"{number} {things}", value, number in bad)
            for row, things, values, bad in (
                ("captions that describe", "images", printed.CAPTIONS_WITH, ()),
                ("images that have", "captions", printed.IMAGES_WITH, printed.MISPRINTED_IMAGES_WITH),
            )
            for number, value in enumerate(values, start=1)
        ),
    ):
        ours = numbers_of[row, column]
        note = ", ".join(f"{name}: {counts[row, column]:,}" for name, counts in others.items())
        why = ""
        if misprinted:
            total = sum(printed.IMAGES_WITH)
            why = (
                f"misprinted: the captions' figure again, and the four printed add up to {total} of "
                f"{len(evidence.images):,} images; we count {ours:,}"
            )
        yield PrintedCell(
            table, row, column, value, None if misprinted else float(ours), COUNT, family, why=why, note=note
        )


def _relevance_counts(evidence: Evidence, settings: QrelsSettings) -> dict[tuple[str, str], int]:
    """Return the counts of `relevant_pairs` by row and column."""
    qrels = freeze_pairs(
        evidence.crowd.pairs, name="flickr8k", settings=settings, originals=evidence.originals.items()
    )
    relevant = {(row.query, row.document) for row in qrels.rows if row.relevance}
    counts = {
        ("relevant pairs", "besides the originals"): len(relevant - set(evidence.originals.items())),
    }
    for row, things, ids in (
        ("captions that describe", "images", [caption for _, caption in relevant]),
        ("images that have", "captions", [image for image, _ in relevant]),
    ):
        numbers = Counter(min(count, 4) for count in Counter(ids).values())
        for number in range(1, 5):
            head = f"{number} or more {things}" if number == 4 else f"{number} {things}"
            counts[row, head] = numbers[number]
    return counts
