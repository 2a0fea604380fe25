"""The files that an operator put into DATA_DIR/sources; a page never opens a file by another path."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from evaluation.formats.box_files import BOX_SUFFIXES
from evaluation.formats.feature_files import FEATURE_SUFFIXES
from evaluation.formats.word_vectors import WORD_VECTOR_SUFFIXES

#: Kinds of files, and how their names end.
_KINDS = {
    "background": (".txt",),
    "boxes": BOX_SUFFIXES,
    "collections": (".csv", ".parquet"),
    "features": FEATURE_SUFFIXES,
    "networks": (".onnx", ".safetensors", ".pth", ".pt"),
    "parses": (".conllu", ".conllu.gz"),
    "recipes": (".toml",),
}


def server_files(kind: str, *, words: bool = False) -> list[str]:
    """The names of the server's files of a kind: background, boxes, collections, features, networks, parses
    or recipes; of features with `words` the files of word vectors too."""
    folder = Path(settings.DATA_DIR) / "sources" / kind
    endings = (*_KINDS[kind], *(WORD_VECTOR_SUFFIXES if words else ()))
    return sorted(
        file.name
        for file in folder.glob("[!.]*")
        # `NAME.ids.txt` lists what the rows of another file are of.
        if file.is_file() and file.name.endswith(endings) and not file.name.endswith(".ids.txt")
    )


def path_of_file(kind: str, name: str) -> str:
    """Where a file of the server is."""
    return str((Path(settings.DATA_DIR) / "sources" / kind / name).resolve())
