"""The columns of a shard: as an Arrow schema, as the features of `datasets`, and as listed in a card.

`datasets` reads its features from the key "huggingface" of a schema's metadata (JSON), and the hub from the
`dataset_info` of a card (YAML). All three are made from one description here, so that they cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from models_core.extras import load_extra

if TYPE_CHECKING:
    import pyarrow as pa

IMAGE_COLUMN = "image"
_IMAGE, _TEXT, _INT, _FLAG = "image", "string", "int32", "bool"

#: Type of each column: a type, a list `[type]`, or a record of named parts. docs/formats.md describes their
#: meaning.
FEATURES: dict[str, Any] = {
    "image_id": _TEXT,
    IMAGE_COLUMN: _IMAGE,
    "filename": _TEXT,
    "position": _INT,
    "split": _TEXT,
    "width": _INT,
    "height": _INT,
    "external_id": _TEXT,
    "captions": [{"text": _TEXT, "words": [_TEXT], "id": _TEXT, "unrelated": _FLAG}],
    "covered": _FLAG,
    "phrases": [
        {"caption": _INT, "start": _INT, "end": _INT, "text": _TEXT, "categories": [_TEXT], "chain": _TEXT}
    ],
    "chains": [
        {
            "id": _TEXT,
            "label": _TEXT,
            "phrases": [_TEXT],
            "categories": [_TEXT],
            "scene": _FLAG,
            "nobndbox": _FLAG,
        }
    ],
    "boxes": [{"bbox": [_INT], "chains": [_TEXT], "by_model": _FLAG}],
}


def shard_schema() -> pa.Schema:
    """Return the Arrow schema of a shard, with the features in its metadata."""
    # Importing pyarrow takes a third of a second and 60 MB, so only an export does.
    pa = load_extra("pyarrow")

    leaves = {
        _TEXT: pa.string(),
        _INT: pa.int32(),
        _FLAG: pa.bool_(),
        _IMAGE: pa.struct({"bytes": pa.binary(), "path": pa.string()}),
    }

    def arrow(kind: Any) -> Any:
        if isinstance(kind, list):
            return pa.list_(arrow(kind[0]))
        if isinstance(kind, dict):
            return pa.struct({name: arrow(part) for name, part in kind.items()})
        return leaves[kind]

    metadata = json.dumps({"info": {"features": {name: _described(kind) for name, kind in FEATURES.items()}}})
    return pa.schema(
        [(name, arrow(kind)) for name, kind in FEATURES.items()], metadata={"huggingface": metadata}
    )


def _described(kind: Any) -> Any:
    """Return a feature in the JSON form of `datasets`; a list is a list of one feature."""
    if isinstance(kind, list):
        return [_described(kind[0])]
    if isinstance(kind, dict):
        return {name: _described(part) for name, part in kind.items()}
    return {"_type": "Image"} if kind == _IMAGE else {"dtype": kind, "_type": "Value"}


def features_in_yaml() -> Iterator[str]:
    """Yield the lines of `features:` in a card, each feature an entry of a list."""
    yield from _entries(FEATURES, "")


def _entries(parts: dict[str, Any], indent: str) -> Iterator[str]:
    for name, kind in parts.items():
        yield f"{indent}- name: {name}"
        if isinstance(kind, list) and isinstance(kind[0], dict):
            yield f"{indent}  list:"
            yield from _entries(kind[0], f"{indent}  ")
        elif isinstance(kind, list):
            yield f"{indent}  list: {kind[0]}"
        else:
            yield f"{indent}  dtype: {kind}"
