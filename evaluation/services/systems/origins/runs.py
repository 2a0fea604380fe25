"""Made elsewhere, and known by its runs alone."""

from django.utils.translation import gettext_lazy as _

from evaluation.services.systems.origins.base import ORIGINS, Origin

#: Of a system that is nothing here but the name of runs.
RUNS = "runs"

ORIGINS.register(
    RUNS,
    Origin(RUNS, _("Runs"), _("Rankings that were computed elsewhere. Such a system cannot rank here.")),
)
