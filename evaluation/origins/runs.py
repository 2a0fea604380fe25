"""Runs made elsewhere: nothing is here but its rankings."""

from django.utils.translation import gettext_lazy as _

from evaluation.origins.base import ORIGINS, Origin

ORIGINS.register("runs", Origin("runs", _("Runs"), ranks=False))
