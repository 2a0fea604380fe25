"""Kinds of jobs about machines of campaigns: one file each."""

import sys

from phrasebox.registry import discover

discover(sys.modules[__name__])
