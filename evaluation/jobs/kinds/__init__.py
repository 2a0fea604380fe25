"""Kinds of jobs of the evaluation: one file each, some in folders, all registered on import."""

import sys

from phrasebox.registry import discover

discover(sys.modules[__name__])
