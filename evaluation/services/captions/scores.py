"""Captions that systems wrote, scored against those of a corpus and compared with one another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from annotation.common.operations import check_used
from annotation.selectors.corpora import corpus_named
from evaluation.comparison.missing import LEAVE_OUT, REFUSE, check_missing, named_cases
from evaluation.comparison.provenance import UNDECLARED, Declaration, with_provenance
from evaluation.comparison.subsets import Subset
from evaluation.models import CaptionSet
from evaluation.selectors import CorpusNames, names_of
from evaluation.services.captions.figures import (
    CaptionScoring,
    caption_figures,
    documents_of,
    notes_on_cuts,
    references_by_image,
)
from evaluation.services.common import InputError
from evaluation.services.imported_sets import by_image
from phrasebox.balance import CAPTIONS, NOT_REQUESTED, OF_LEFT, UNKNOWN, WITHOUT_REFERENCE, current_tally
from phrasebox.figure_basis import FigureBasis
from phrasebox.formats.candidate_captions import read_candidates
from phrasebox.text_files import FormatError

#: A file, or a set.
CaptionSource: TypeAlias = Path | CaptionSet


@dataclass(frozen=True, slots=True)
class NotScored:
    """The names of images that are excluded from the figures, of a corpus or its part, or of the file.

    `missing` have no caption in the file and are left out on request, `unknown` are not in the corpus,
    `outside` are not in the requested part, and `bare` have no caption in the corpus to compare with.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    outside: tuple[str, ...]
    bare: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Matched:
    """The captions of a file by the row ids of their images; `lacking` images have none."""

    captions: Mapping[int, str]
    lacking: frozenset[int]
    not_scored: NotScored


def caption_sources(captions: Sequence[Path]) -> dict[str, CaptionSource]:
    """Return the file, or the caption set of that name if there is no such file, by a label for each: its
    name, or its path where another has the same name.

    Raises InputError if one is named twice.
    """
    often = Counter(path.name for path in captions)
    labels = {path.name if often[path.name] == 1 else str(path): path for path in captions}
    if len(labels) < len(captions):
        raise InputError("one of the captions is named twice; name each file or caption set once")
    rows = CaptionSet.objects.filter(name__in=map(str, captions), published=True)
    stored = {row.name: row for row in rows.select_related("corpus", "made_by")}
    return {label: path if path.exists() else stored.get(str(path), path) for label, path in labels.items()}


def captions_by_image(source: CaptionSource, names: CorpusNames) -> tuple[dict[int, str], list[str]]:
    """Return the caption of each image of a file or a set, by row id; and the names of images that the corpus
    lacks.

    Raises FormatError, and InputError for a set of another corpus or of regions.
    """
    if isinstance(source, Path):
        of_image, unknown = by_image(read_candidates(source), names, source)
        return {pk: candidate.caption for pk, candidate in of_image.items()}, unknown
    if source.corpus.name != names.corpus:
        raise InputError(
            f"caption set {source.name!r} is of corpus {source.corpus.name!r}, not of {names.corpus!r}; name "
            "that one"
        )
    if source.regions:
        raise InputError(
            f"caption set {source.name!r} describes regions; name the layer or the campaign with what people "
            "say of regions"
        )
    return dict(source.captions.values_list("image_id", "text")), []


def score_caption_sources(
    *,
    corpus: str,
    sources: Mapping[str, CaptionSource],
    how: CaptionScoring,
    subset: Subset | None = None,
    documents: Subset | None = None,
    missing: str = REFUSE,
    declared: Declaration = UNDECLARED,
    leave_unused: bool = True,
) -> dict[str, Any]:
    """Score captions of `caption_sources`: figures with intervals, differences of the others from the
    first (`caption_figures`), and what was excluded, as plain data.

    All captions of an image are its references. `documents` are the images whose references CIDEr counts as
    documents, all of the corpus for None. All files are scored on the same images: under `leave-out` on those
    for which each has a caption. `declared` says what the system behind a file was trained on; only a single
    file may have one. Captions of images that the corpus lacks are skipped if `leave_unused` is set.

    Raises UnknownName, Invalid, FormatError, UnknownMeasure, MissingOutput, MeteorMissing, MeteorFailed,
    AgreementError, and InputError for a file that is named twice and a declaration that belongs to no single
    file; each message is one line.
    """
    outside = [label for label, source in sources.items() if isinstance(source, Path)]
    if declared.trained_on and len(outside) != 1:
        raise InputError(
            f"{len(outside)} files: what the writer was trained on is declared of one file; name one alone"
        )
    references, unrelated = references_by_image(corpus)
    names = names_of(corpus)
    inside = [pk for pk in names.image_name if subset is None or pk in subset.images]
    cases = [pk for pk in inside if references.get(pk)]
    matched = {
        label: _match(label, source, names, inside, cases, missing) for label, source in sources.items()
    }
    lacking = frozenset[int]().union(*(match.lacking for match in matched.values()))
    scored = [pk for pk in cases if missing != LEAVE_OUT or pk not in lacking]
    if not scored:
        raise InputError(f"no image has a caption in each of {', '.join(sources)}; compare fewer of them")
    _count_captions(matched, frozenset(scored), names)
    check_used(current_tally().sheet(), leave_unused=leave_unused)
    counted_in = documents_of(corpus, documents, references)
    figures, differences = caption_figures(
        {label: [match.captions.get(pk, "") for pk in scored] for label, match in matched.items()},
        [references[pk] for pk in scored],
        [names.image_name[pk] for pk in scored],
        counted_in,
        how,
    )
    basis = FigureBasis(
        cases="images",
        counted=len(scored),
        out_of=len(cases),
        without_output=len(lacking),
        pool=f"captions of corpus {corpus}" + (f", {subset.called}" if subset else ""),
        missing=missing,
        tokens=how.tokens,
        references=counted_in.label,
        notes=(*_notes_on_missing(matched), *notes_on_cuts(how.measures)),
    )
    report = {
        "corpus": corpus,
        "subset": subset.called if subset else "",
        "images": len(scored),
        "references": sum(len(references[pk]) for pk in scored),
        "unrelated": sum(unrelated.get(pk, 0) for pk in scored),
        "basis": basis.as_dict(),
        **asdict(how.resampling),
        "rounds": how.rounds,
        "baseline": next(iter(figures)),
        "sets": [
            {
                "set": label,
                "without_output": len(match.lacking),
                "not_scored": {word: list(images) for word, images in asdict(match.not_scored).items()},
                "measures": figures[label],
            }
            for label, match in matched.items()
        ],
        "differences": differences,
    }
    systems = {label: declared if isinstance(source, Path) else source for label, source in sources.items()}
    return with_provenance(report, systems, corpus_named(corpus), scored)


def _count_captions(matched: Mapping[str, _Matched], scored: frozenset[int], names: CorpusNames) -> None:
    for match in matched.values():
        skipped = match.not_scored
        named = {*skipped.outside, *skipped.bare}
        others = (names.image_name[pk] for pk in match.captions if pk not in scored)
        left = {
            UNKNOWN: skipped.unknown,
            NOT_REQUESTED: skipped.outside,
            WITHOUT_REFERENCE: skipped.bare,
            OF_LEFT: [name for name in others if name not in named],
        }
        current_tally().take_others(CAPTIONS, len(match.captions) + len(skipped.unknown), left)


def _notes_on_missing(matched: Mapping[str, _Matched]) -> tuple[str, ...]:
    """Return how many images each of several sets lacks."""
    if len(matched) < 2 or not any(match.lacking for match in matched.values()):
        return ()
    return tuple(f"{label}: no caption of {len(match.lacking):,} images." for label, match in matched.items())


def _match(
    label: str,
    source: CaptionSource,
    names: CorpusNames,
    inside: Sequence[int],
    cases: Sequence[int],
    missing: str,
) -> _Matched:
    """Return the captions of a file by image: `inside` are the requested images, and `cases` those of them
    that have references.

    Raises FormatError if two entries are of one image, a name is ambiguous, or no image is left, and
    MissingOutput.
    """
    of_image, unknown = captions_by_image(source, names)
    requested, scorable = frozenset(inside), frozenset(cases)
    lacking = [pk for pk in cases if pk not in of_image]
    lacking_names = tuple(names.image_name[pk] for pk in lacking)
    not_scored = NotScored(
        missing=lacking_names if missing == LEAVE_OUT else (),
        unknown=tuple(unknown),
        outside=tuple(names.image_name[pk] for pk in of_image if pk not in requested),
        bare=tuple(names.image_name[pk] for pk in inside if pk in of_image and pk not in scorable),
    )
    if len(lacking) == len(cases):
        raise FormatError(
            f"has no caption of corpus {names.corpus!r} that can be scored: {not_scored_text(not_scored)}",
            file=source if isinstance(source, Path) else label,
            expected=f"images by file name, key or id, as {next(iter(names.image_name.values()), '')!r}",
        )
    check_missing(
        missing,
        lacking=lacking_names,
        out_of=len(cases),
        cases="images",
        output=f"caption in {label!r}",
    )
    return _Matched(of_image, frozenset(lacking), not_scored)


def not_scored_text(not_scored: NotScored) -> str:
    """Return what is excluded from the figures, in one line; "" if nothing is."""
    parts = [
        _count_text(not_scored.missing, "of the corpus without a caption in the file"),
        _count_text(not_scored.unknown, "of the file unknown to the corpus"),
        _count_text(not_scored.outside, "of the file not among those asked for"),
        _count_text(not_scored.bare, "without a caption in the corpus to compare with"),
    ]
    return "; ".join(filter(None, parts))


def _count_text(names: Sequence[str], what: str) -> str:
    return named_cases(len(names), f"image{'' if len(names) == 1 else 's'} {what}", names) if names else ""


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def remarks_on_captions(report: dict[str, Any]) -> str:
    """Return the remarks on the figures of `score_caption_sources`."""
    which = f" ({report['subset']})" if report["subset"] else ""
    counted = f"{_number(report['images'], 'image')}, {_number(report['references'], 'reference')}"
    called = " and ".join(caption_set["set"] for caption_set in report["sets"])
    lines = [f"{called} against corpus {report['corpus']}{which}: {counted}."]
    for caption_set in report["sets"]:
        excluded_text = not_scored_text(
            NotScored(**{word: tuple(names) for word, names in caption_set["not_scored"].items()})
        )
        if excluded_text:
            lines.append(f"Left out of {caption_set['set']}: {excluded_text}.")
    if report["unrelated"]:
        counted = _number(report["unrelated"], "caption")
        lines.append(f"No references: {counted} whose authors say that they are unrelated.")
    return "\n".join(lines)
