"""The two directions in which runs rank."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.models import Run

RUN_DIRECTIONS = (Run.ANNOTATION, Run.SEARCH)


def direction_choices() -> dict[str, Any]:
    """Each direction with its title."""
    return {
        Run.ANNOTATION: _("annotation: images are the queries"),
        Run.SEARCH: _("search: captions are the queries"),
    }
