"""What is measured, as pure functions of arrays and words: no Django, no database, no clock.

Importing the package fills METRICS.
"""

from evaluation.metrics import captions, incomplete, localization, ranking, tagging
from evaluation.metrics.table import METRICS

__all__ = ["METRICS", "captions", "incomplete", "localization", "ranking", "tagging"]
