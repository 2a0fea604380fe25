"""Captions that a system wrote, scored against those of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from annotation.formats.base import FormatError
from annotation.formats.names import image_id
from annotation.selectors.corpora import corpus_named
from evaluation.agreement.summary import Resampling
from evaluation.comparison.missing import LEAVE_OUT, REFUSE, WORST, check_missing, named_cases
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.subsets import Subset
from evaluation.formats.candidate_captions import Candidate, read_candidates
from evaluation.formats.figure_basis import FigureBasis, basis_from_dict
from evaluation.formats.figure_tables import Table
from evaluation.metrics.captions import DEFAULT_CUT, Captions, score_captions
from evaluation.models import CaptionSet
from evaluation.selectors import names_of
from evaluation.services.captions.references import documents_of, references_by_image
from evaluation.services.captions.sets import caption_set_named
from evaluation.services.common import ImportRefused
from evaluation.significance.captions import caption_interval

#: Measures that have a cut of their own.
_OF_CONTENT_WORDS = frozenset({"ROUGE-1", "BLEU_pre"})


@dataclass(frozen=True, slots=True)
class NotScored:
    """Images that have no part in the figures, by name: of a corpus or its part, or of the file.

    `missing` have no caption in the file and are left out by choice, `unknown` are none of the corpus's,
    `outside` not of the part that was asked for, and `bare` have no caption in the corpus to compare with.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    outside: tuple[str, ...]
    bare: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchedCaptions:
    """Captions of a file with the references of their images: `candidates[k]` is for image `names[k]`,
    whose row has the id `images[k]`.

    Of the `out_of` images that were asked for, `lacking` have no caption in the file: they have an empty one
    here, or are left out. `unrelated` counts captions that are no references, since their authors say that
    they do not describe the image.
    """

    names: tuple[str, ...]
    images: tuple[int, ...]
    candidates: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    out_of: int
    lacking: int
    unrelated: int
    left_out: NotScored


def candidates_of(file: Path, corpus: str) -> list[Candidate]:
    """The captions of a file, or of the caption set of that name where there is no such file.

    Raises FormatError, UnknownName for neither, and ImportRefused for a set of another corpus, or of regions.
    """
    known = CaptionSet.objects.filter(name=str(file), published=True).select_related("corpus").first()
    if file.exists() or known is None:
        return read_candidates(file)
    if known.corpus.name != corpus:
        raise ImportRefused(
            f"caption set {known.name!r} is of corpus {known.corpus.name!r}, not of {corpus!r}; name that one"
        )
    if known.regions:
        raise ImportRefused(
            f"caption set {known.name!r} describes regions; give --layer or --campaign with what people say "
            "of regions"
        )
    names = names_of(corpus).image_name
    rows = known.captions.order_by("position").values_list("position", "image_id", "text")
    return [Candidate(names[image], text, f"caption {place + 1}") for place, image, text in rows.iterator()]


def score_caption_file(
    *,
    corpus: str,
    file: Path,
    measures: Sequence[str],
    subset: Subset | None = None,
    documents: Subset | None = None,
    tokens: str = DEFAULT_CUT,
    missing: str = REFUSE,
    resampling: Resampling,
) -> dict[str, Any]:
    """The figures of a file of captions with their intervals, as plain data; what was left out beside them.

    All captions of an image are its references. `documents` are the images whose references CIDEr counts as
    documents, all of the corpus for None; `tokens` names a cut of `CUTS`. Raises UnknownName, FormatError,
    UnknownMeasure, MissingOutput, MeteorMissing, MeteorFailed and AgreementError, each one line.
    """
    references, unrelated = references_by_image(corpus)
    matched = _match(
        corpus, file, candidates_of(file, corpus), references, unrelated, subset=subset, missing=missing
    )
    counted_in = documents_of(corpus, documents, references)
    captions = Captions(matched.candidates, matched.references, tokens=tokens, documents=counted_in.texts)
    scores = score_captions(captions, measures)
    bootstrap = resampling.over(matched.names)
    basis = FigureBasis(
        cases="images",
        counted=len(matched.names),
        out_of=matched.out_of,
        without_output=matched.lacking,
        pool=f"captions of corpus {corpus}" + (f", {subset.called}" if subset else ""),
        missing=missing,
        tokens=tokens,
        references=counted_in.label,
        notes=notes_on_cuts(scores),
    )
    report = {
        "corpus": corpus,
        "file": file.name,
        "subset": subset.called if subset else "",
        "images": len(matched.names),
        "references": sum(map(len, matched.references)),
        "unrelated": matched.unrelated,
        "left_out": {word: list(names) for word, names in asdict(matched.left_out).items()},
        "basis": basis.as_dict(),
        **asdict(resampling),
        "measures": [
            {"measure": name, **asdict(caption_interval(score, bootstrap))} for name, score in scores.items()
        ],
    }
    made = {file.name: None if file.exists() else caption_set_named(file.name)}
    return with_provenance(report, made, corpus_named(corpus), matched.images)


def notes_on_cuts(measures: Iterable[str]) -> tuple[str, ...]:
    """What must be said of measures that are not given the tokens of a basis."""
    apart = [name for name in measures if name in _OF_CONTENT_WORDS]
    return (f"{' and '.join(apart)}: stems of content words, whatever the tokens.",) if apart else ()


def _match(
    corpus: str,
    file: Path,
    candidates: Sequence[Candidate],
    references: Mapping[int, tuple[str, ...]],
    unrelated: Mapping[int, int],
    *,
    subset: Subset | None,
    missing: str,
) -> MatchedCaptions:
    """The captions of a file beside the references of their images, in the order of the corpus.

    Images go by all names that `names_of` knows, with or without a picture's extension. Raises UnknownName
    for the corpus, FormatError where two entries are of one image or no image is left, and MissingOutput.
    """
    names = names_of(corpus)
    by_name = {image_id(name): pk for name, pk in names.image.items()} | names.image
    given: dict[int, Candidate] = {}
    unknown = []
    for each in candidates:
        pk = by_name.get(each.image, by_name.get(image_id(each.image)))
        if pk is None:
            unknown.append(each.image)
        elif pk in given:
            raise FormatError(
                f"{each.place} and {given[pk].place} are of one image, {names.image_name[pk]!r}",
                file=file,
                expected="one caption for each image",
            )
        else:
            given[pk] = each
    inside = [pk for pk in names.image_name if subset is None or pk in subset.images]
    cases = [pk for pk in inside if references.get(pk)]
    lacking = [pk for pk in cases if pk not in given]
    lacking_names = tuple(names.image_name[pk] for pk in lacking)
    left_out = NotScored(
        missing=lacking_names if missing == LEAVE_OUT else (),
        unknown=tuple(unknown),
        outside=tuple(names.image_name[pk] for pk in given if subset is not None and pk not in subset.images),
        bare=tuple(names.image_name[pk] for pk in inside if pk in given and not references.get(pk)),
    )
    if len(lacking) == len(cases):
        raise FormatError(
            f"has no caption of corpus {corpus!r} that can be scored: {not_scored_text(left_out)}",
            file=file,
            expected=f"images by file name, key or id, as {next(iter(names.image_name.values()), '')!r}",
        )
    check_missing(missing, lacking=lacking_names, out_of=len(cases), cases="images", output="caption")
    scored = [pk for pk in cases if pk in given or missing == WORST]
    return MatchedCaptions(
        names=tuple(names.image_name[pk] for pk in scored),
        images=tuple(scored),
        candidates=tuple(given[pk].caption if pk in given else "" for pk in scored),
        references=tuple(references[pk] for pk in scored),
        out_of=len(cases),
        lacking=len(lacking),
        unrelated=sum(unrelated.get(pk, 0) for pk in scored),
        left_out=left_out,
    )


def not_scored_text(left_out: NotScored) -> str:
    """What has no part in the figures, in one line; "" where nothing was left out."""
    said = [
        _told(left_out.missing, "of the corpus without a caption in the file"),
        _told(left_out.unknown, "of the file unknown to the corpus"),
        _told(left_out.outside, "of the file not among those asked for"),
        _told(left_out.bare, "without a caption in the corpus to compare with"),
    ]
    return "; ".join(filter(None, said))


def _told(names: Sequence[str], what: str) -> str:
    return named_cases(len(names), f"image{'' if len(names) == 1 else 's'} {what}", names) if names else ""


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def remarks_on_captions(report: dict[str, Any]) -> str:
    """What is to be known about the figures of `score_caption_file`."""
    which = f" ({report['subset']})" if report["subset"] else ""
    counted = f"{_number(report['images'], 'image')}, {_number(report['references'], 'reference')}"
    lines = [f"{report['file']} against corpus {report['corpus']}{which}: {counted}."]
    left_out = not_scored_text(
        NotScored(**{word: tuple(names) for word, names in report["left_out"].items()})
    )
    if left_out:
        lines.append(f"Left out: {left_out}.")
    if report["unrelated"]:
        counted = _number(report["unrelated"], "caption")
        lines.append(f"No references: {counted} whose authors say that they are unrelated.")
    if report["resamples"]:
        lines.append(
            f"Intervals of {100 * report['level']:g}%: {report['resamples']:,} resamples of whole images, "
            f"seed {report['seed']}."
        )
    return "\n".join(lines)


def table_of_captions(report: dict[str, Any]) -> Table:
    """The figures of `score_caption_file`, a measure in each row."""
    return Table(
        ["measure", "value", "low", "high", "images", "remark"],
        [
            [one["measure"], one["value"], one["low"], one["high"], one["items"], one["reason"]]
            for one in report["measures"]
        ],
        dict.fromkeys(("value", "low", "high"), 4),
        basis=basis_from_dict(report["basis"]),
    )
