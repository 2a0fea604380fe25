"""Vectors of images and captions in one space, made elsewhere and kept here."""

from django.utils.translation import gettext_lazy as _

from evaluation.origins.base import ORIGINS, Origin

ORIGINS.register("embeddings", Origin("embeddings", _("Embeddings"), ranks=True))
