"""Kinds of jobs: one file each, all registered once this package is imported."""

import sys

from phrasebox.registry import discover

discover(sys.modules[__name__])
