"""The figures of Hodosh et al. 2013, computed again from Flickr8k's published files."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from annotation.common.operations import FileUpload, Help, Named, OperationContext
from annotation.formats.flickr8k import Flickr8k
from annotation.selectors.stored_kinds import CORPORA
from evaluation.reproduction.evidence import LEMMAS, Evidence
from evaluation.reproduction.figure3 import Figure3, make_figure3, tagged
from evaluation.reproduction.report import ReproductionReport, reproduce
from evaluation.selectors import judged_pairs, judgment_set, names_of
from evaluation.services.systems.sources import WordNetField, wordnet_folder
from models_core.features.text.lemmas import Lemmatiser
from models_core.features.text.wordnet import WordNet, WordNetMissing
from phrasebox.formats.flickr8k_judgments import Flickr8kCrowd, Flickr8kExpert
from phrasebox.relevance.pairs import JudgedPair
from phrasebox.text_files import FormatError

_Folder = Annotated[Path, FileUpload()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceRequest:
    """The tables of Hodosh et al. 2013 are computed again, and stand beside what was printed. Nothing is
    stored."""

    folder: Annotated[
        _Folder, Help(_("Folder"), _("Flickr8k's: captions, as written and lemmatised, and judgments"))
    ]
    corpus: Annotated[
        Annotated[str, Named(CORPORA)] | None,
        Help(_("Corpus"), _("Whose imported judgments are used, in place of the folder's")),
    ] = None
    experts: Annotated[str, Named(), Help(_("Judgments of the experts in that corpus"))] = Flickr8kExpert.key
    crowd: Annotated[str, Named(), Help(_("Judgments of the crowd in that corpus"))] = Flickr8kCrowd.key


def reproduce_hodosh(request: ReproduceRequest, context: OperationContext) -> ReproductionReport:
    """All cells; raises FormatError, and UnknownName for judgments that are none."""
    imported: dict[str, Iterable[JudgedPair]] = {}
    if request.corpus is not None:
        names = names_of(request.corpus)
        for who, name in (("experts", request.experts), ("crowd", request.crowd)):
            imported[who] = judged_pairs(judgment_set(names.corpus, name), names)
    evidence = Evidence.read(request.folder, **imported)
    return reproduce(evidence, watch=lambda steps: context.progress_of("conventions", len(steps))(steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSimilarityRequest:
    """The word similarities of Hodosh et al. 2013, Figure 3, are computed on Flickr8k's training captions,
    and stand beside the printed ones. Nothing is stored."""

    folder: Annotated[_Folder, Help(_("Folder"), _("Flickr8k's text files, with those that are lemmatised"))]
    wordnet: WordNetField = None


def word_similarity(request: WordSimilarityRequest, context: OperationContext) -> Figure3:
    """Both lists of each word; without WordNet's files Lin's column is empty. Raises FormatError, and
    WordNetMissing where they were named."""
    wordnet, why = None, ""
    try:
        wordnet = WordNet(wordnet_folder(request.wordnet, context)) if request.wordnet else WordNet()
    except WordNetMissing as missing:
        if request.wordnet:
            raise
        why = str(missing)
    written = {
        caption_record.id: caption_record
        for caption_record in Flickr8k().read(request.folder)
        if caption_record.split == "train"
    }
    if not written:
        expected = "Flickr_8k.trainImages.txt"
        raise FormatError("names no training images", file=request.folder, expected=expected)
    file = request.folder / LEMMAS
    lemmas = {
        caption_record.id: caption_record
        for caption_record in Flickr8k().read(file)
        if caption_record.id in written
    }
    for key, record in written.items():
        if key not in lemmas or len(lemmas[key].captions) != len(record.captions):
            what = f"has too few captions of {record.filename}"
            raise FormatError(what, file=file, expected="those of every image")
    pairs = [(record, lemmas[key]) for key, record in written.items()]
    words = tagged(context.progress_of("tagging captions", len(pairs))(pairs), Lemmatiser())
    return make_figure3(words, wordnet, why_no_wordnet=why)
