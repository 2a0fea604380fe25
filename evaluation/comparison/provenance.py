"""What a system has seen of the images behind a figure: images it was trained on, or on which settings were
chosen.

Two images are the same if their pictures have the same content, or their sources use the same name for them,
in whatever corpus they are. A system stores both of each image as 64 bits of a hash, which also works for
renamed and deleted corpora, and for collections of millions. Where nothing was recorded, the answer is "not
known", never "none".
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.common.database import chunks
from annotation.selectors.corpora import check_split, corpus_named
from evaluation.models import SeenImages, System
from phrasebox.figure_basis import FigureBasis
from phrasebox.names import image_id
from phrasebox.registry import UnknownName

Hashes = NDArray[np.uint64]

NOT_KNOWN, NONE_SEEN = "not known", "none"
#: The declaration of a system that was trained on no image, such as features that are computed by hand.
TRAINED_ON_NOTHING = "nothing"
_COCO_SPLIT = re.compile(r"COCO_\w+?_(?=\d{12}$)")
_IMAGES_AT_ONCE = 5_000
_NO_PICTURE = 0


@dataclass(frozen=True, slots=True)
class Identities:
    """The identities of images: hashes of source names and of picture contents, shape (images,); 0: no
    picture."""

    names: Hashes
    pictures: Hashes

    def packed(self) -> Hashes:
        """Return both as one sorted set, the form in which systems store them."""
        both = np.union1d(self.names, self.pictures)
        return both[both != _NO_PICTURE]


def identities(images: Iterable[tuple[str, str]]) -> Identities:
    """Compute the identities of images given as (file name, stored picture); either may have an extension,
    and the picture may be ""."""
    named = [
        (_hash("name", source_name(name)), _hash("picture", picture.partition(".")[0]) if picture else 0)
        for name, picture in images
    ]
    names, pictures = np.asarray(named, np.uint64).reshape(-1, 2).T
    return Identities(names, pictures)


def source_name(filename: str) -> str:
    """Return the source's name of an image: its file name without extension, and without the split in
    COCO's."""
    return _COCO_SPLIT.sub("", image_id(filename))


def _hash(kind: str, text: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{kind}\0{text}".encode(), digest_size=8).digest())


def identities_of(corpus: Any, images: Iterable[int]) -> Identities:
    """Return the identities of images of a corpus, by row id; images without a file use their keys."""
    rows = corpus.images.order_by().values_list("filename", "key", "picture")
    return identities(
        (filename or key, picture)
        for some in chunks(sorted(images), _IMAGES_AT_ONCE)
        for filename, key, picture in rows.filter(pk__in=some)
    )


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration by the person who adds something: what it was `trained_on`, "" for none.

    If `corpora` is set, only these are searched: those that this person may see.
    """

    trained_on: str = ""
    corpora: Collection[str] | None = None

    def images(self) -> Hashes | None:
        """Return the images that it names as CORPUS or CORPUS:SPLIT, packed; None if it is empty or
        another text.

        Raises UnknownName for a split that the corpus does not have.
        """
        if self.trained_on == TRAINED_ON_NOTHING:
            return np.zeros(0, np.uint64)
        name, colon, split = self.trained_on.partition(":")
        if not name or (self.corpora is not None and name not in self.corpora):
            return None
        try:
            corpus = corpus_named(name)
        except UnknownName:
            return None
        images = corpus.images.order_by()
        if colon:
            check_split(corpus, split)
            images = images.filter(split=split)
        return identities_of(corpus, images.values_list("pk", flat=True)).packed()


#: No declaration.
UNDECLARED = Declaration()


@dataclass(frozen=True, slots=True)
class Provenance:
    """How many of `images` images a system was trained on and chose settings on; None: not known.

    `seen` are the images of either kind, `by_name` those of them that were only matched by name, though they
    have a picture. `unknown` names parts of the system, such as feature sets, whose training images were not
    recorded; `declared` is the declaration of the person who added it, and `notes` are further sentences.
    """

    images: int
    learned: int | None = None
    validated: int | None = None
    seen: int = 0
    by_name: int = 0
    unknown: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """One of "none", "N of M" and "not known"; "none" only where nothing is unknown."""
        if self.seen:
            return f"{self.seen} of {self.images}"
        return NOT_KNOWN if self.learned is None or self.unknown else NONE_SEEN

    @property
    def sentence(self) -> str:
        """The same as a sentence, with the notes."""
        if self.learned is None:
            text = "Not known which images it learned from."
        elif self.seen:
            alone = f" ({self.by_name:,} by name alone: the pictures differ)" if self.by_name else ""
            text = (
                f"Learned from {self.learned:,} of these {self.images:,} images, and chose settings on "
                f"{self.validated:,} of them{alone}."
            )
        else:
            text = f"Learned from none of these {self.images:,} images, and chose no settings on them."
        unknown = [f"Not known which images {part} learned from." for part in self.unknown]
        # What is unknown comes before a statement that sounds clean.
        known = [text, *unknown] if self.seen else [*unknown, text]
        return " ".join([*known, *self.declared, *self.notes])

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-serialisable data."""
        return {
            "answer": self.answer,
            "images": self.images,
            "learned": self.learned,
            "validated": self.validated,
            "by_name": self.by_name,
            "unknown": list(self.unknown),
            "declared": list(self.declared),
            "notes": list(self.notes),
            "sentence": self.sentence,
        }


def images_seen(images: Identities, learned: Hashes, validated: Hashes) -> Provenance:
    """Return how many of the images are among the training images, and among those on which settings were
    chosen; both are packed."""
    by_picture = np.isin(images.pictures, learned), np.isin(images.pictures, validated)
    by_name = np.isin(images.names, learned), np.isin(images.names, validated)
    seen = by_picture[0] | by_picture[1] | by_name[0] | by_name[1]
    differ = seen & ~by_picture[0] & ~by_picture[1] & (images.pictures != _NO_PICTURE)
    return Provenance(
        images=len(images.names),
        learned=int((by_picture[0] | by_name[0]).sum()),
        validated=int((by_picture[1] | by_name[1]).sum()),
        seen=int(seen.sum()),
        by_name=int(differ.sum()),
    )


def provenance_of_system(system: System | None, images: Identities, notes: Sequence[str] = ()) -> Provenance:
    """Return what a system has seen of these images; "not known" without a system."""
    declared: tuple[str, ...] = ()
    if system is not None:
        declared = (declaration_text(system.trained_on),) if system.trained_on else ()
        notes = (*system.settings.get("selection", ()), *notes)  # the notes of the choice of settings
    row = None if system is None else SeenImages.objects.filter(system=system).first()
    if row is None:
        return Provenance(len(images.names), declared=declared, notes=tuple(notes))
    learned, validated = (np.frombuffer(held, "<u8") for held in (row.learned, row.validated))
    return replace(
        images_seen(images, learned, validated),
        unknown=tuple(row.unknown),
        declared=(*declared, *row.declared),
        notes=(*row.notes, *notes),
    )


def provenance_declared(declared: Declaration, images: Identities) -> Provenance:
    """Return what output from elsewhere has seen of these images, by its declaration; "not known" for
    UNDECLARED.

    Raises UnknownName as `Declaration.images`.
    """
    learned = declared.images()
    texts = (declaration_text(declared.trained_on),) if declared.trained_on else ()
    if learned is None:
        return Provenance(len(images.names), declared=texts)
    return replace(images_seen(images, learned, np.zeros(0, np.uint64)), declared=texts)


def declaration_text(trained_on: str, what: str = "") -> str:
    """Return the declared training of a system, or of its parts `what`, in the words used beside figures."""
    return f"Declared, not checked: {f'{what} were' if what else 'it was'} trained on {trained_on}."


def provenance_of(
    systems: Mapping[str, Any], corpus: Any, images: Iterable[int]
) -> dict[str, dict[str, Any]]:
    """Return what the system behind each `SystemOutput` has seen of images of a corpus, as plain data; for a
    file its `Declaration` is used. `images` are row ids."""
    known = identities_of(corpus, set(images))
    return {
        name: provenance_declared(row, known).as_dict()
        if isinstance(row, Declaration)
        else provenance_of_system(row.made_by, known, _notes_of(row)).as_dict()
        for name, row in systems.items()
    }


def _notes_of(row: Any) -> list[str]:
    """Return remarks on how rankings or predictions were made."""
    system, notes = row.made_by, list(row.remarks)
    if system is not None and system.digest and not row.system_digest:
        notes.append(f"That system {system.name!r} made it is what its file says.")
    return notes


def with_provenance(
    report: dict[str, Any], systems: Mapping[str, Any], corpus: Any, images: Iterable[int]
) -> dict[str, Any]:
    """Add `provenance_of` to a report of figures (plain data), and its sentences to the basis of the
    report."""
    provenance = provenance_of(systems, corpus, images)
    sentences = {name: statement["sentence"] for name, statement in provenance.items()}
    basis = {**report.get("basis", FigureBasis().as_dict()), "provenance": sentences}
    return {**report, "provenance": provenance, "basis": basis}
