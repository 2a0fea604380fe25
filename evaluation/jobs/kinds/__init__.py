"""Kinds of jobs of evaluation: one module each, some in subpackages, all registered on import."""

import sys

from phrasebox.registry import discover

discover(sys.modules[__name__])
