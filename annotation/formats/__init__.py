"""Corpus formats: one module each, all in FORMATS, with those that a site adds.

They are imported on first access to FORMATS: code that only needs `base` or `text` loads no parser of JSON or
XML.
"""

import sys
from typing import TYPE_CHECKING, Any

from annotation.formats import base
from phrasebox.registry import discover

if TYPE_CHECKING:
    from annotation.formats.base import FORMATS, Format, Written

__all__ = ["FORMATS", "Format", "Written"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    discover(sys.modules[__name__])
    base.FORMAT_FOLDERS.load()
    return globals().setdefault(name, getattr(base, name))
