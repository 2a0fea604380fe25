"""Embeddings of images and captions in one space, with ids, from which score matrices of any model are made.

A file (npz, npy or safetensors) holds one side, as `vectors` with `ids`, or both, as `images` with
`image_ids` and `captions` with `caption_ids`. Ids are stored as for score matrices: in the file, in metadata,
or beside it in `NAME.ids.txt` (`NAME.image_ids.txt`, `NAME.caption_ids.txt`). Vectors are memory-mapped, and
multiplied in tiles.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from phrasebox.balance import COMPANION
from phrasebox.formats.arrays import FileArray, note_arrays, open_arrays
from phrasebox.formats.scores import ScoreMatrix, ids_of, named_array
from phrasebox.scoring.similarities import similarity_scores
from phrasebox.scoring.tiles import NotANumber, check_finite
from phrasebox.text_files import FormatError, short_repr

EmbeddedSide = Literal["images", "captions"]
_IDS: dict[EmbeddedSide, str] = {"images": "image_ids", "captions": "caption_ids"}


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One vector for each id, shape (ids, dimensions)."""

    file: Path
    ids: tuple[str, ...]
    vectors: FileArray


def read_embeddings(
    path: Path | str,
    side: EmbeddedSide,
    ids_file: Path | str | None = None,
    *,
    finite: bool = True,
    once: bool = True,
) -> Embeddings:
    """Open one side's embeddings, from a file of its own or of both sides; `ids_file` lists their ids, which
    must be unique if `once`.

    Raises FormatError for mismatched shapes, types and ids, and, if `finite`, for the first vector that is
    not finite, naming its id.
    """
    path = Path(path)
    held = open_arrays(path)
    vectors_name, ids_name = (side, _IDS[side]) if side in held.arrays else ("vectors", "ids")
    vectors = named_array(held, vectors_name)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or not vectors.shape[1]:
        raise FormatError(
            f"{vectors_name} have shape {vectors.shape} of {vectors.dtype}",
            file=path,
            expected=f"numbers of shape ({side}, dimensions)",
        )
    listed = None if ids_file is None else Path(ids_file)
    ids = ids_of(held, ids_name, len(vectors), listed, once=once)
    others = [name for name in _IDS if name != side]  # they may be imported by themselves
    note_arrays(path, *others, *(_IDS[name] for name in others), reason=COMPANION)
    try:
        if finite:
            check_finite(vectors, side)
    except NotANumber as error:
        raise FormatError(
            f"the embedding of {short_repr(ids[error.row])} is not finite at dimension {error.column}",
            file=path,
            expected="numbers only",
        ) from error
    return Embeddings(path, ids, vectors)


def read_sides(images: Path | str, captions: Path | str | None = None) -> tuple[Embeddings, Embeddings]:
    """Return both sides, from one file or from one each; raises FormatError for one file with a single
    side."""
    if captions is None and not _IDS.keys() <= open_arrays(images).arrays.keys():
        raise FormatError(
            "does not contain both images and captions",
            file=images,
            expected="the arrays 'images' and 'captions', or a second file with the captions",
        )
    return read_embeddings(images, "images"), read_embeddings(captions or images, "captions")


def scores_of(images: Embeddings, captions: Embeddings, *, cosine: bool = True) -> ScoreMatrix:
    """Return scores of all pairs, computed a tile at a time; raises FormatError if the spaces differ."""
    if images.vectors.shape[1] != captions.vectors.shape[1]:
        raise FormatError(
            f"captions have {captions.vectors.shape[1]} dimensions, images {images.vectors.shape[1]}",
            file=captions.file,
            expected="the same number for both",
        )
    products = similarity_scores(images.vectors, captions.vectors, "cosine" if cosine else "dot")
    return ScoreMatrix(images.file, images.ids, captions.ids, products)
