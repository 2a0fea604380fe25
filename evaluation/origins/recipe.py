"""Trained here by a recipe."""

from django.utils.translation import gettext_lazy as _

from evaluation.origins.base import ORIGINS, Origin

ORIGINS.register("recipe", Origin("recipe", _("Trained by a recipe"), ranks=True))
