"""Where systems come from: one file each, all registered once this package is imported."""

import sys

from annotation.common.registry import discover
from evaluation.services.systems.origins.base import ORIGINS, Origin, RankRequest

discover(sys.modules[__name__])

__all__ = ["ORIGINS", "Origin", "RankRequest"]
