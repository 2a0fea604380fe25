"""Formats of judgments made elsewhere: one file each, all in JUDGMENT_FORMATS once this is imported."""

import sys

from annotation.common.registry import discover
from evaluation.formats.base import JUDGMENT_FORMATS, JudgmentFormat
from evaluation.relevance.pairs import JudgedPair

discover(sys.modules[__name__])

__all__ = ["JUDGMENT_FORMATS", "JudgedPair", "JudgmentFormat"]
