"""A matrix of scores of images with captions, made elsewhere and kept here."""

from django.utils.translation import gettext_lazy as _

from evaluation.origins.base import ORIGINS, Origin

ORIGINS.register("scores", Origin("scores", _("Scores"), ranks=True))
