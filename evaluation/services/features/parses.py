"""Dependency parses of a corpus's captions, imported from CoNLL-U.

They are stored in the folder DATA_DIR/parses/CORPUS: `sentences.jsonl`, a line for each caption that has a
parse, in the order of captions, and `manifest.json`. A corpus has one set of parses.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.common.operations import check_used
from annotation.selectors.corpora import corpus_named
from evaluation.formats.conllu import ParsedSentence, read_conllu
from evaluation.selectors import CorpusNames, names_of
from evaluation.services.common import InputError, check_file, recover_folder, replace_folder, work_lock
from evaluation.services.features.importing import count_ids
from models_core.phase_cache import PhaseProgress, no_progress
from models_core.storage import file_digest
from phrasebox.balance import OTHER_WORDS, PARSES, UNKNOWN, current_tally
from phrasebox.registry import UnknownName

_FORMAT, _VERSION = "phrasebox-parses", 1
_SENTENCES, _MANIFEST = "sentences.jsonl", "manifest.json"
#: The Penn Treebank's names of brackets; quotation marks are not compared.
_BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}
#: Number of sentences between two reports of progress.
_STEP = 5_000


@dataclass(frozen=True, slots=True)
class ParsedCaptions:
    """The stored parses of a corpus; `digest` covers all of them."""

    corpus: str
    captions: int
    words: int
    digest: str
    origin: Mapping[str, Any]
    created_at: str
    folder: Path

    def sentences(self) -> Iterator[ParsedSentence]:
        """Yield each parse with the name of its caption, in the order of captions."""
        with (self.folder / _SENTENCES).open(encoding="utf-8") as file:
            for line in file:
                data = json.loads(line)
                yield ParsedSentence(
                    data["id"], tuple(data["forms"]), tuple(data["heads"]), tuple(data["relations"])
                )

    @property
    def created(self) -> datetime:
        """When they were imported."""
        return datetime.fromisoformat(self.created_at)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for reports."""
        return {key: value for key, value in asdict(self).items() if key != "folder"}


@dataclass(frozen=True, slots=True)
class ImportedParses:
    """The parses, whether they existed already, and remarks on them, a sentence each."""

    parses: ParsedCaptions
    unchanged: bool
    remarks: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for reports."""
        return {**self.parses.as_dict(), "unchanged": self.unchanged, "remarks": self.remarks}


def stored_parses(corpus: str) -> ParsedCaptions | None:
    """Return the stored parses of a corpus; None if it has none."""
    folder = _folder(corpus)
    with suppress(OSError, ValueError, KeyError):
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        if (manifest["format"], manifest["version"]) == (_FORMAT, _VERSION):
            known = {key: manifest[key] for key in ("captions", "words", "digest", "origin", "created_at")}
            return ParsedCaptions(corpus=corpus, folder=folder, **known)
    return None


def parses_of(corpus: str) -> ParsedCaptions:
    """Return the parses of a corpus; raises UnknownName if it has none, with the remedy."""
    corpus_named(corpus)
    parses = stored_parses(corpus)
    if parses is not None:
        return parses
    raise UnknownName(f"corpus {corpus!r} has no parses; import them as a CoNLL-U file")


def import_parses(
    corpus: str,
    path: Path,
    *,
    replace: bool = False,
    leave_unused: bool = True,
    progress: PhaseProgress = no_progress,
) -> ImportedParses:
    """Store the parses of a corpus's captions; repeating it changes nothing.

    Each parse names its caption (`sent_id`) and has its words: the concatenated forms equal the caption
    without white space. Parses of other captions or other words are skipped and counted if `leave_unused` is
    set. Raises UnknownName, FormatError, OSError, Busy, and InputError if a caption occurs twice, if no
    parse fits, and if other parses exist and `replace` is not set.
    """
    check_file(path, "a CoNLL-U file")
    names = names_of(corpus)
    with work_lock(f"parses.{corpus}", "parses of corpus", corpus):
        recover_folder(_folder(corpus))
        sentences, remarks, counts = _matched(path, names, progress)
        check_used(current_tally().sheet(), leave_unused=leave_unused)
        lines = "".join(json.dumps(_to_dict(sentence), ensure_ascii=False) + "\n" for sentence in sentences)
        digest = hashlib.sha256(lines.encode()).hexdigest()
        with suppress(UnknownName):
            existing = parses_of(corpus)
            if existing.digest == digest:
                return ImportedParses(existing, True, remarks)
            if not replace:
                raise InputError(f"corpus {corpus!r} has other parses already, which stay")
        folder = _folder(corpus)
        part = folder.with_name(f".{corpus}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            (part / _SENTENCES).write_text(lines, encoding="utf-8")
            manifest = {
                "format": _FORMAT,
                "version": _VERSION,
                "captions": len(sentences),
                "words": sum(len(sentence.forms) for sentence in sentences),
                "digest": digest,
                "origin": {"file": path.name, "sha256": file_digest(path), **counts},
                "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            (part / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        replace_folder(part, folder)
        return ImportedParses(parses_of(corpus), False, remarks)


def remove_parses(corpus: str) -> None:
    """Remove the parses of a corpus that is about to be deleted: otherwise the next corpus of its name would
    inherit them. Raises Busy while parses are being imported."""
    with work_lock(f"parses.{corpus}", "parses of corpus", corpus):
        folder = _folder(corpus)
        for path in (folder, *folder.parent.glob(f".{corpus}.*")):
            shutil.rmtree(path, ignore_errors=True)


def _matched(
    path: Path, names: CorpusNames, progress: PhaseProgress
) -> tuple[list[ParsedSentence], list[str], dict[str, int]]:
    """Return the parses of the corpus's captions, in their order, remarks on the others, and the counts of
    those."""
    images = corpus_named(names.corpus).images.filter(captions__isnull=False)
    texts = dict(images.values_list("captions__pk", "captions__text"))
    of: dict[int, ParsedSentence] = {}
    caption_of = names.captions_in(path)
    unknown, different = [], []
    for number, sentence in enumerate(read_conllu(path)):
        if number % _STEP == 0:
            progress("reading parses", min(number, len(texts)), len(texts))
        caption = caption_of[sentence.id]
        if caption is None:
            unknown.append(sentence.id)
        elif caption in of:
            raise InputError(f"{path}: caption {sentence.id!r} has more than one parse; expected one each")
        elif letters_of("".join(_BRACKETS.get(form, form) for form in sentence.forms)) != letters_of(
            texts[caption]
        ):
            different.append(sentence.id)
        else:
            caption_name = names.caption_name[caption]
            of[caption] = ParsedSentence(caption_name, sentence.forms, sentence.heads, sentence.relations)
    progress("reading parses", len(texts), len(texts))
    if not of:
        raise InputError(
            f"{path}: no parse fits a caption of corpus {names.corpus!r}: {count_ids(unknown)} are of none, "
            f"{count_ids(different)} have other words"
        )
    tally = current_tally()
    left = {UNKNOWN: unknown, OTHER_WORDS: different}
    tally.take_others(PARSES, len(of) + len(unknown) + len(different), left)
    remarks = []
    missing = [names.caption_name[pk] for pk in names.caption_name if pk not in of]
    if missing:
        remarks.append(f"{count_ids(missing)} of the corpus have no parse")
    counts = {"excluded": len(unknown) + len(different), "missing": len(missing)}
    return [of[pk] for pk in names.caption_name if pk in of], remarks, counts


def letters_of(text: str) -> str:
    """Return a text lower-cased, without white space and quotation marks, and with plain brackets."""
    return re.sub(r"\s|``|''|[\"“”„]", "", _BRACKETS.get(text, text)).lower()


def _to_dict(sentence: ParsedSentence) -> dict[str, Any]:
    return {
        "id": sentence.id,
        "forms": sentence.forms,
        "heads": sentence.heads,
        "relations": sentence.relations,
    }


def _folder(corpus: str) -> Path:
    return Path(settings.DATA_DIR) / "parses" / corpus
