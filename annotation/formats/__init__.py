"""Corpus formats: one file each, all in FORMATS once this package is imported."""

import sys

from annotation.formats.base import FORMATS, Format, FormatError, Written
from annotation.registry import discover

discover(sys.modules[__name__])

__all__ = ["FORMATS", "Format", "FormatError", "Written"]
