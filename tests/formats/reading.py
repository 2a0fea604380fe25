"""Helpers for tests that read, write, and expect errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.formats import FORMATS
from annotation.protocol.terms import ImageRecord, LayerRecord
from phrasebox.text_files import FormatError


def read(key: str, path: Path, images: Path | None = None) -> list[ImageRecord]:
    return list(FORMATS.get(key).read(path, images=images))


def layer_of(record: ImageRecord) -> LayerRecord:
    assert record.layer is not None
    return record.layer


def write(key: str, records: list[ImageRecord], out: Path) -> Path:
    out.mkdir()
    FORMATS.get(key).write(records, out)
    return out


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def error_of(key: str, path: Path) -> FormatError:
    """Return the error of reading `path`: one line that names a file."""
    with pytest.raises(FormatError) as caught:
        read(key, path)
    return one_line(caught.value)


def refused_to_write(key: str, records: list[ImageRecord], out: Path) -> FormatError:
    with pytest.raises(FormatError) as caught:
        write(key, records, out)
    return one_line(caught.value)


def one_line(error: FormatError) -> FormatError:
    message = str(error)
    assert len(message.splitlines()) == 1
    assert message.startswith(error.file)
    assert error.expected
    return error
