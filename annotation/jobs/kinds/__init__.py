"""Kinds of jobs: one module each, all registered when this package is imported."""

import sys

from phrasebox.registry import discover

discover(sys.modules[__name__])
