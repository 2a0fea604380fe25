"""Where systems come from: one file each, all registered once this package is imported."""

import sys

from annotation.registry import discover
from evaluation.origins.base import ORIGINS, Origin

discover(sys.modules[__name__])

__all__ = ["ORIGINS", "Origin"]
