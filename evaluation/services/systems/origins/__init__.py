"""Origins of systems: one module each, all registered when this package is imported."""

import sys

from evaluation.services.systems.origins.base import ORIGINS, RankRequest
from phrasebox.registry import discover

discover(sys.modules[__name__])
