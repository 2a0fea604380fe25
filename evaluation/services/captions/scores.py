"""Captions that a system wrote, scored against those of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from annotation.formats.base import FormatError
from annotation.formats.names import image_id
from annotation.selectors.corpora import corpus_named
from evaluation.agreement.summary import Resampling
from evaluation.comparison.provenance import with_provenance
from evaluation.comparison.subsets import Subset
from evaluation.formats.candidate_captions import Candidate, read_candidates
from evaluation.formats.figure_basis import basis_from_dict
from evaluation.formats.figure_tables import Table
from evaluation.metrics.captions import Captions, score_captions
from evaluation.models import CaptionSet
from evaluation.selectors import names_of
from evaluation.services.captions.sets import caption_set_named
from evaluation.services.common import ImportRefused
from evaluation.significance.captions import caption_interval

#: Images that are left out of which the first are named.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class NotScored:
    """Images that have no part in the figures, by name: of a corpus or its part, or of the file.

    `missing` have no caption in the file, `unknown` are none of the corpus's, `outside` not of the part that
    was asked for, and `bare` have no caption in the corpus to compare with.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    outside: tuple[str, ...]
    bare: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchedCaptions:
    """Captions of a file with the references of their images: `candidates[k]` is for image `names[k]`,
    whose row has the id `images[k]`.

    `unrelated` counts captions that are no references, since their authors say that they do not describe
    the image.
    """

    names: tuple[str, ...]
    images: tuple[int, ...]
    candidates: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
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
    resampling: Resampling,
) -> dict[str, Any]:
    """The figures of a file of captions with their intervals, as plain data; what was left out beside them.

    All captions of an image are its references. Raises UnknownName, FormatError, UnknownMeasure,
    MeteorMissing, MeteorFailed and AgreementError, each one line.
    """
    found = match_captions(corpus=corpus, file=file, candidates=candidates_of(file, corpus), subset=subset)
    bootstrap = resampling.over(found.names)
    scores = score_captions(Captions(found.candidates, found.references), measures)
    report = {
        "corpus": corpus,
        "file": file.name,
        "subset": subset.called if subset else "",
        "images": len(found.names),
        "references": sum(map(len, found.references)),
        "unrelated": found.unrelated,
        "left_out": {word: list(names) for word, names in asdict(found.left_out).items()},
        **asdict(resampling),
        "measures": [
            {"measure": name, **asdict(caption_interval(score, bootstrap))} for name, score in scores.items()
        ],
    }
    made = {file.name: None if file.exists() else caption_set_named(file.name)}
    return with_provenance(report, made, corpus_named(corpus), found.images)


def match_captions(
    *, corpus: str, file: Path, candidates: Sequence[Candidate], subset: Subset | None = None
) -> MatchedCaptions:
    """The captions of a file beside the references of their images, in the order of the corpus.

    Images go by all names that `names_of` knows, with or without a picture's extension. Raises UnknownName
    for the corpus, and FormatError where two entries mean one image and where no image is left.
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
    references, unrelated = _references(corpus)
    asked = [pk for pk in names.image_name if subset is None or pk in subset.images]
    scored = [pk for pk in asked if pk in given and references.get(pk)]
    left_out = NotScored(
        missing=tuple(names.image_name[pk] for pk in asked if pk not in given),
        unknown=tuple(unknown),
        outside=tuple(names.image_name[pk] for pk in given if subset is not None and pk not in subset.images),
        bare=tuple(names.image_name[pk] for pk in asked if pk in given and not references.get(pk)),
    )
    if not scored:
        raise FormatError(
            f"has no caption of corpus {corpus!r} that can be scored: {not_scored_text(left_out)}",
            file=file,
            expected=f"images by file name, key or id, as {next(iter(names.image_name.values()), '')!r}",
        )
    return MatchedCaptions(
        tuple(names.image_name[pk] for pk in scored),
        tuple(scored),
        tuple(given[pk].caption for pk in scored),
        tuple(references[pk] for pk in scored),
        sum(unrelated.get(pk, 0) for pk in scored),
        left_out,
    )


def _references(corpus: str) -> tuple[dict[int, tuple[str, ...]], dict[int, int]]:
    """The captions of each image by the id of its row, and how many that are unrelated it has besides."""
    images = corpus_named(corpus).images.filter(captions__isnull=False)
    rows = images.order_by("position", "captions__number")
    found: dict[int, tuple[str, ...]] = {}
    unrelated: dict[int, int] = {}
    for pk, text, apart in rows.values_list("pk", "captions__text", "captions__unrelated").iterator(5_000):
        if apart:
            unrelated[pk] = unrelated.get(pk, 0) + 1
        else:
            found[pk] = (*found.get(pk, ()), text)
    return found, unrelated


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
    if not names:
        return ""
    first = ", ".join(repr(name[:60]) for name in names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return f"{_number(len(names), 'image')} {what} ({first})"


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
