"""Only reader processes open uploaded files: the web processes decode none of them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from annotation.api.rest.endpoints import endpoints
from tests import mutants
from tests.api.v1.conftest import Caller, operation
from tests.api.v1.valid import VALID
from tests.hostile.world import IMAGES

#: Functions that read a file's bytes without parsing them: digests, copies, and storing a part.
_AS_BYTES = {"digest_of_files", "file_digest", "_by_content", "receive_uploaded_part", "_form_as_bytes"}
_watching: list[tuple[Path, list[str]]] = []


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event != "open" or not _watching or not isinstance(args[0], str | bytes):
        return
    folder, opened = _watching[-1]
    path, mode = str(args[0]), str(args[1] or "")
    if not path.startswith(str(folder)) or set(mode) & set("wxa") or Path(path).is_dir():
        return
    names = {frame.f_code.co_name for frame, _line in traceback.walk_stack(sys._getframe(1))}
    if not names & _AS_BYTES:
        opened.append(path)


@cache
def _hook() -> None:
    """Install the audit hook once, in the first test that needs it: a hook cannot be removed, and is called
    for every file and statement."""
    sys.addaudithook(_watch)


@contextmanager
def opened_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record the files below a folder that this process reads; fail at once on reads without Python's
    open."""
    opened: list[str] = []
    _hook()
    _watching.append((folder, opened))
    try:
        with monkeypatch.context() as patched:
            for name in ("evaluation.formats.feature_files.load_extra", "PIL.Image.open"):
                patched.setattr(name, lambda *args, name=name, **kwargs: opened.append(name))
            yield opened
    finally:
        _watching.pop()


TAKING = sorted(endpoint.name for endpoint in endpoints() if endpoint.uploads)
SIDES = next(seed.content for seed in mutants.seeds(IMAGES) if seed.name == "sides.npz")
#: Calls that send a file, for operations whose valid call sends none.
SENDING: dict[str, dict[str, Any]] = {
    "agreement": {"files": {"file": ("x.csv", b"image,caption,grade\nscene-2.png,scene-2.png#0,4.5\n")}},
    "evaluate": {"files": {"embeddings": ("sides.npz", SIDES)}},
    "score_tags": {
        "body": {"corpus": "quay"},
        "files": {"file": ("tags.csv", b"image,tag,score\nscene-1,dog,0.5\n")},
    },
    "freeze_qrels": {"files": {"images": ("x.txt", b"scene-2.png\n")}},
    "open_campaign": {"files": {"pairs": ("x.csv", b"image,caption\nscene-2,scene-2#0\n")}},
}


#: Fields that are not sent together with a file.
_INSTEAD = ("judgments", "images")


def test_the_watch_sees_a_file_that_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "x").write_text("x")
    with opened_here(tmp_path, monkeypatch) as opened:
        (tmp_path / "x").read_text()
    assert opened == [str(tmp_path / "x")]


@pytest.mark.parametrize("name", TAKING)
def test_no_operation_opens_a_file_that_was_sent(
    researcher: Caller, data: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    call = VALID[name]()
    for field, value in SENDING.get(name, {}).items():
        setattr(call, field, value)
        call.body = {key: value for key, value in (call.body or {}).items() if key not in _INSTEAD}
    if name == "open_campaign":
        call.body |= {"tasks": "relevance"}  # type: ignore[operator]
    assert call.files
    with opened_here(data / "data" / "uploads", monkeypatch) as opened:
        response = researcher.perform(operation(name), call)
    assert response.status_code < 300, response.content
    assert opened == []
