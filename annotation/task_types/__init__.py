"""Task types: how each question is put to workers, one file each, all in TASK_TYPES once this is imported."""

import sys

from annotation.common.registry import discover
from annotation.task_types.base import TASK_TYPES, BadAnswer, Choice, Page, Pointed, TaskType
from annotation.task_types.shown import ShownCaption, ShownImage, name_of, shown_image

discover(sys.modules[__name__])

__all__ = [
    "TASK_TYPES",
    "BadAnswer",
    "Choice",
    "Page",
    "Pointed",
    "ShownCaption",
    "ShownImage",
    "TaskType",
    "name_of",
    "shown_image",
]
