"""Corpus formats: one file each, all in FORMATS once it is taken from this package, with those a site adds.

They are imported then and not before: code that needs `base` alone loads no parser of JSON or XML.
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
