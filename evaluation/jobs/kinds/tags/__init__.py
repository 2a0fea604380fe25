"""Kinds of jobs about tags: one file each."""

import sys

from annotation.common.registry import discover

discover(sys.modules[__name__])
