"""Figures of reports: one module per kind, drawn by matplotlib as SVG and PDF; registered on import."""

import sys

from phrasebox.registry import discover

discover(sys.modules[__name__])
