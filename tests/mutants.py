"""Small valid files of every kind that users send, and random mutants of them.

A mutant is truncated, has repeated parts, numbers larger than any file, values of other types or nested
lists, or contains a decompression bomb. The same seed gives the same mutants.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image as Pillow
from safetensors.numpy import save

from annotation.common.readers import stream
from annotation.formats.layers.proposals import read_proposals_within
from annotation.formats.source_records import read_layer_records
from annotation.formats.table_rows import read_table_rows
from evaluation.formats.box_files import read_boxes
from evaluation.formats.feature_files import DescribedItems
from evaluation.formats.sent_files import (
    SentMatrix,
    read_feature_rows,
    read_features,
    read_json_lines,
    read_judged_pairs,
    read_qrels_lines,
    read_rankings,
    read_system,
)
from phrasebox.formats.candidate_captions import read_candidates
from phrasebox.formats.tag_lists import read_tag_lists
from phrasebox.names import ImageNaming
from phrasebox.text_files import lines

#: Number of bytes to which a bomb unpacks: more than a file may contain.
_BOMB = 8 * 2**20
_NUMBER = re.compile(rb"\d+(\.\d+)?")
_STRANGE = (
    b"-1",
    b"0",
    b"1e999",
    b"99999999999999999999",
    b"4294967296",
    b"true",
    b"null",
    b"NaN",
    b'"x"',
    b"[]",
)
_TYPES = (
    (b"F32", b"F64"),
    (b"<f4", b"|O8"),
    (b"<f8", b"<U9"),
    (b"<U", b"<f"),
    (b"'fortran_order': False", b"0"),
)
_WORDS = (2**15, 2**31 - 1, 2**32 - 1, 2**63 - 1)


@dataclass(frozen=True)
class Seed:
    """A valid file, the operation and field that take it, and the other fields of the call."""

    operation: str
    name: str
    content: bytes
    field_name: str = "file"
    fields: dict[str, Any] = field(default_factory=dict)


def mutants(seed: Seed, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield `number` mutants of a file, each with a name that ends like the file's, in letters of any
    case."""
    rng = Random(seed.name)
    stem, dot, ending = seed.name.partition(".")
    for index in range(number):
        content = seed.content
        for _ in range(rng.choice((1, 1, 2, 4))):
            content = rng.choice(_CHANGES)(content, rng)
        yield stem + dot + (ending.upper() if index % 5 == 0 else ending), content


def _cut_off(content: bytes, rng: Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _repeat(content: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:end] + content[start:end] * rng.choice((1, 50)) + content[end:]


def _drop(content: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[end:]


def _scribble(content: bytes, rng: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 4, 32)) if changed else 0):
        changed[rng.randrange(len(changed))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    return bytes(changed)


def _enlarge_count(content: bytes, rng: Random) -> bytes:
    size = rng.choice((2, 4, 8))
    at = rng.randrange(max(1, len(content) - size))
    word = rng.choice(_WORDS) & (2 ** (8 * size) - 1)
    return content[:at] + word.to_bytes(size, rng.choice(("little", "big"))) + content[at + size :]


def _strange_number(content: bytes, rng: Random) -> bytes:
    numbers = list(_NUMBER.finditer(content))
    if not numbers:
        return content
    match = rng.choice(numbers)
    return content[: match.start()] + rng.choice(_STRANGE) + content[match.end() :]


def _other_type(content: bytes, rng: Random) -> bytes:
    return content.replace(*rng.choice(_TYPES))


def _nest(content: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return (
        content[:at] + rng.choice((b"[", b'{"a":', b"(", b"<a>")) * rng.choice((100, 20_000)) + content[at:]
    )


def _bomb(content: bytes, rng: Random) -> bytes:
    if content[:2] == b"\x1f\x8b":
        return _packed_zeros()
    if content[:2] == b"PK":
        return _archived_zeros(rng.choice(("scores.npy", "vectors.npy", "captions.token.txt", "a/a.jpg")))
    return content + bytes(2**20)


@functools.cache
def _packed_zeros() -> bytes:
    return gzip.compress(bytes(_BOMB), 1)


@functools.cache
def _archived_zeros(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(name, bytes(_BOMB))
    return packed.getvalue()


_CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_cut_off, _repeat, _drop, _scribble, _enlarge_count, _enlarge_count),
    *(_strange_number, _strange_number, _other_type, _nest, _bomb),
)


def _npz(arrays: dict[str, Any], *, packed: bool = False) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, **arrays)
    return out.getvalue()


def _parquet(ids: list[str], vectors: Any, **more: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"id": ids, "vector": vectors.tolist(), **more}), out)
    return out.getvalue()


def _hdf5(ids: list[str], vectors: Any) -> bytes:
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file["ids"], file["vectors"] = ids, vectors
    return out.getvalue()


def _word_vectors(words: list[str], vectors: Any) -> bytes:
    lines = [f"{len(words)} {vectors.shape[1]}", *(f"{word} 0.5 0.25" for word in words)]
    return ("\n".join(lines) + "\n").encode()


def pictures() -> dict[str, bytes]:
    """Return small pictures of every type."""
    files = {}
    for ending, kind in {"jpg": "JPEG", "png": "PNG", "webp": "WEBP", "gif": "GIF"}.items():
        out, exif = io.BytesIO(), Pillow.Exif()
        exif[0x0112] = 6
        picture = Pillow.linear_gradient("L").resize((40, 30)).convert("P" if kind == "GIF" else "RGB")
        picture.save(out, kind, **({} if kind == "GIF" else {"exif": exif}))
        files[f"p.{ending}"] = out.getvalue()
    return files


def seeds(images: int) -> list[Seed]:
    """Return the files that operations take, for a corpus with `images` images named scene-0.png and so
    on."""
    names = [f"scene-{number}.png" for number in range(images)]
    captions, eye = [f"{name}#0" for name in names], np.eye(images, dtype=np.float32)
    ids = {"images": np.array(names), "captions": np.array(captions)}
    sides = {
        "images": eye,
        "image_ids": np.array(names),
        "captions": eye,
        "caption_ids": np.array(captions),
    }
    listed = {name: json.dumps(values.tolist()) for name, values in ids.items()}
    run = "".join(f"{name} Q0 {name}#0 1 1.5 x\n" for name in names).encode()
    grades = "image,caption,grade\n" + "".join(
        f"{name},{name}#0,{3 + n % 2}\n" for n, name in enumerate(names)
    )
    qrels = "".join(f"{name} 0 {name}#0 1\n" for name in names).encode()
    mention = {"image": names[1], "caption": 0, "start": 0, "end": 1, "phrase": "a"}
    localized = json.dumps({**mention, "regions": [[1, 1, 9, 9, 0.5], [2, 2, 8, 8, 0.25]]}).encode()
    boxes = [{"image_id": name, "bbox": [1, 1, 9, 9], "score": 0.5} for name in names]
    of_quay = {"corpus": "quay"}
    scores, embeddings = {**of_quay, "format": "scores"}, {**of_quay, "format": "embeddings"}
    judged = {**of_quay, "format": "table", "scale": "0-5"}
    settings = {**of_quay, "extractor": "layout", "method": "file"}
    controls = (
        "kind,purpose,image,mentions,boxes,pending,known,explanation\n"
        "box_requirement,control,man,0:3-5,,,box,\n"
    )
    words = {**of_quay, "kind": "word"}
    cvat = (
        f'<annotations><image id="0" name="{names[1]}" width="0" height="0">'
        '<box label="dog" xtl="1" ytl="1" xbr="9" ybr="9"/></image></annotations>'
    )
    coco = {
        "images": [{"id": 1, "file_name": names[1]}],
        "categories": [{"id": 1, "name": "dog"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 8, 8]}],
    }
    written = [{"image_id": names[1], "caption": "a dog", "log_probability": -1.5}]
    tagged = json.dumps({"image": names[1], "tags": [["dog", 0.5], ["cat", 0.25]]})
    return [
        Seed("add_system", "scores.npz", _npz({"scores": eye, **ids}), fields=scores),
        Seed("add_system", "scores.safetensors", save({"scores": eye}, listed), fields=scores),
        Seed("add_system", "sides.npz", _npz(sides, packed=True), fields=embeddings),
        Seed("import_run", "run.trec", run, fields=of_quay),
        Seed("import_run", "run.trec.gz", gzip.compress(run, mtime=0), fields=of_quay),
        Seed("import_run", "run.npz", _npz({"scores": eye, **ids}), fields=scores),
        Seed("import_judgments", "grades.csv", grades.encode(), fields=judged),
        Seed("agreement", "judged.csv", grades.encode(), fields={"resamples": 10}),
        Seed("import_qrels", "qrels.trec", qrels, fields={**of_quay, "format": "trec"}),
        Seed(
            "import_qrels",
            "qrels.trec.gz",
            gzip.compress(qrels, mtime=0),
            fields={**of_quay, "format": "trec"},
        ),
        Seed(
            "import_qrels",
            "qrels.csv",
            grades.replace("grade", "relevance").encode(),
            fields={**of_quay, "format": "csv"},
        ),
        Seed(
            "import_qrels",
            "qrels.json",
            json.dumps({name: [f"{name}#0"] for name in names}).encode(),
            fields={**of_quay, "format": "json"},
        ),
        Seed("import_localizations", "regions.jsonl", localized, fields=of_quay),
        Seed("import_captions", "captions.json", json.dumps(written).encode(), fields=of_quay),
        Seed("import_captions", "captions.tsv", b"image\tcaption\nscene-1\ta dog\n", fields=of_quay),
        Seed("import_tags", "tags.jsonl", tagged.encode(), fields=of_quay),
        Seed("import_tags", "tags.csv", b"image,tag,score\nscene-1,dog,0.5\n", fields=of_quay),
        Seed("import_controls", "items.csv", controls.encode()),
        Seed(
            "open_campaign",
            "pairs.csv",
            b"image,caption,role\nscene-1,scene-1#0,wanted\nscene-2,scene-2#0,filler\n",
            "pairs",
            {**of_quay, "tasks": "relevance", "unpaid": True},
        ),
        Seed(
            "freeze_qrels",
            "names.txt",
            "\n".join(names).encode(),
            "images",
            {**of_quay, "protocol": "first caption"},
        ),
        Seed(
            "import_features", "features.npz", _npz({"vectors": eye, "ids": np.array(names)}), fields=of_quay
        ),
        Seed(
            "import_features",
            "features.safetensors",
            save({"vectors": eye}, {"ids": listed["images"]}),
            fields=of_quay,
        ),
        Seed("import_features", "features.parquet", _parquet(names, eye), fields=of_quay),
        Seed("import_features", "features.h5", _hdf5(names, eye), fields=of_quay),
        Seed(
            "import_features",
            "regions.parquet",
            _parquet(names, eye, box=[[1, 1, 9, 9]] * images),
            fields={**of_quay, "kind": "region"},
        ),
        Seed("import_features", "words.vec", _word_vectors(["a", "man"], np.zeros((2, 2))), fields=words),
        Seed(
            "import_features",
            "words.bin",
            b"2 2\n" + b"".join(word + b" " + struct.pack("<2f", 1, 2) + b"\n" for word in (b"a", b"man")),
            fields=words,
        ),
        Seed(
            "extract_regions",
            "boxes.csv",
            f"image,xmin,ymin,xmax,ymax,score\n{names[0]},1,1,9,9,0.5\n".encode(),
            "boxes",
            settings,
        ),
        Seed("extract_regions", "boxes.json", json.dumps(boxes).encode(), "boxes", settings),
        Seed(
            "extract_regions",
            "boxes.npz",
            _npz({"boxes": np.array([[1, 1, 9, 9]]), "ids": np.array(names[:1]), "scores": np.ones(1)}),
            "boxes",
            settings,
        ),
        Seed(
            "import_proposals",
            "boxes.jsonl",
            b'{"image": "scene-1", "boxes": {"0:0-2": [[1, 1, 9, 9, 0.5]]}}\n',
        ),
        Seed("import_layer", "boxes.xml", cvat.encode(), fields={"format": "cvat"}),
        Seed("import_layer", "instances.json", json.dumps(coco).encode(), fields={"format": "coco"}),
    ]


def read_seed(seed: Seed, path: Path) -> None:
    """Read a file with the readers of the seed's operation. Raises FormatError."""
    kinds: dict[str, DescribedItems] = {"region": "regions", "word": "words"}
    kind = kinds.get(seed.fields.get("kind", ""), "images")
    format = seed.fields.get("format", "trec")
    matrix = SentMatrix(format=format, file=path)
    streams: dict[str, Callable[[], Iterator[Any]]] = {
        "add_system": lambda: stream(read_system, matrix),
        "agreement": lambda: stream(read_judged_pairs, path, "table", False),
        "extract_regions": lambda: stream(read_boxes, path),
        "freeze_qrels": lambda: stream(lines, path),
        "import_captions": lambda: stream(read_candidates, path),
        "import_controls": lambda: stream(read_table_rows, path),
        "import_features": lambda: chain(
            stream(read_features, path, kind, None), stream(read_feature_rows, path, kind, None, 0, 4096)
        ),
        "import_judgments": lambda: stream(read_judged_pairs, path, format, False),
        "import_layer": lambda: stream(read_layer_records, format, path, (), path.parent / "data"),
        "import_localizations": lambda: stream(read_json_lines, path, "regions"),
        "import_proposals": lambda: stream(read_proposals_within, path, {}, (ImageNaming(1, "scene-1"),)),
        "import_qrels": lambda: stream(read_qrels_lines, path, format),
        "import_run": lambda: stream(read_rankings, matrix, 10, False),
        "import_tags": lambda: stream(read_tag_lists, path),
        "open_campaign": lambda: stream(read_table_rows, path),
    }
    for _ in streams[seed.operation]():
        pass
