"""Kinds of jobs of the evaluation: one file each, all registered once this package is imported."""

import sys

from annotation.common.registry import discover

discover(sys.modules[__name__])
