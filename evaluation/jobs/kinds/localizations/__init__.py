"""Kinds of jobs about localizations: one file each."""

import sys

from annotation.common.registry import discover

discover(sys.modules[__name__])
