"""Store fitted models: arrays as safetensors beside a JSON manifest; nothing is ever unpickled.

A model is a folder with `arrays.safetensors` and `manifest.json`. It is written next to its place and moved
there when complete, so a folder with that name is complete. The manifest has the kind of model, its settings,
the versions of the packages that made it, metadata from the caller (a corpus's hash, a seed), each array's
type and shape, and the SHA-256 of the file of arrays. Loading checks all of it.
"""

import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

_FORMAT = "phrasebox-model"
FORMAT_VERSION = 1
ARRAYS, MANIFEST = "arrays.safetensors", "manifest.json"

_PACKAGES = ("numpy", "scipy", "safetensors", "torch")


class BadModel(ValueError):
    """The folder is not a model of ours, or is damaged; the message names the file."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored model: arrays by name, settings, and the whole manifest."""

    arrays: dict[str, NDArray[Any]]
    settings: dict[str, Any]
    manifest: dict[str, Any]


def save_model(
    folder: Path,
    kind: str,
    arrays: dict[str, NDArray[Any]],
    settings: dict[str, Any],
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a model to `folder`, which must not exist (FileExistsError); settings and metadata must fit
    JSON."""
    if folder.exists():
        raise FileExistsError(f"{folder} already exists; choose another name, or remove it first")
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        save_file(contiguous, scratch / ARRAYS)
        manifest = {
            "format": _FORMAT,
            "version": FORMAT_VERSION,
            "kind": kind,
            "settings": settings,
            "metadata": metadata or {},
            "made_with": {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
            "arrays": {name: _description(array) for name, array in sorted(contiguous.items())},
            "sha256": file_digest(scratch / ARRAYS),
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (scratch / MANIFEST).write_text(text, encoding="utf-8")
        # safetensors makes files that only their owner can read; whoever may read the manifest may read the
        # model.
        shutil.copymode(scratch / MANIFEST, scratch / ARRAYS)
        for name in (ARRAYS, MANIFEST):
            _to_disk(scratch / name)
        scratch.rename(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def load_model(folder: Path, kind: str | None = None) -> Stored:
    """Read a model and check that it is complete, and of this `kind` if one is given. Raises BadModel."""
    manifest = read_manifest(folder)
    if kind is not None and manifest["kind"] != kind:
        raise BadModel(f"{folder} contains a model of kind {manifest['kind']!r}; expected {kind!r}")
    file = folder / ARRAYS
    if not file.is_file():
        raise BadModel(f"{file} is missing; make the model again")
    if file_digest(file) != manifest["sha256"]:
        raise BadModel(f"{file} is damaged (its SHA-256 is not the manifest's); make the model again")
    try:
        arrays = load_file(file)
    except SafetensorError as reason:
        raise BadModel(f"{file} is not a safetensors file: {reason}") from reason
    for name, described in manifest["arrays"].items():
        if name not in arrays or _description(arrays[name]) != described:
            raise BadModel(f"{file} does not contain the array {name!r} that its manifest describes")
    return Stored(arrays, manifest["settings"], manifest)


def load_some(folder: Path, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a model that are among `names`, without reading the others. Raises BadModel."""
    file = folder / ARRAYS
    try:
        with safe_open(file, framework="numpy") as stored:
            return {name: stored.get_tensor(name) for name in stored.keys() if name in names}
    except (OSError, SafetensorError) as reason:
        raise BadModel(f"{file} cannot be read: {reason}; make the model again") from reason


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest, which is small. Raises BadModel."""
    file = folder / MANIFEST
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadModel(f"{folder} contains no model: {MANIFEST} is missing") from None
    except ValueError as reason:
        raise BadModel(f"{file} is not valid JSON: {reason}") from reason
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise BadModel(f"{file} is not a manifest of a model (format {_FORMAT!r})")
    if manifest.get("version") != FORMAT_VERSION:
        raise BadModel(f"{file} has version {manifest.get('version')!r}; this program reads {FORMAT_VERSION}")
    missing = {"kind", "settings", "arrays", "sha256"} - manifest.keys()
    if missing:
        raise BadModel(f"{file} lacks {', '.join(sorted(missing))}")
    return manifest


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _description(array: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": str(array.dtype), "shape": list(array.shape)}


def _to_disk(file: Path) -> None:
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
