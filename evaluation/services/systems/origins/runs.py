"""Systems from elsewhere, known only by their runs."""

from django.utils.translation import gettext_lazy as _

from evaluation.services.systems.origins.base import ORIGINS, Origin

#: The origin of a system that is only a name of runs.
RUNS = "runs"

ORIGINS.register(
    RUNS,
    Origin(RUNS, _("Runs"), _("Rankings that were computed elsewhere. Such a system cannot rank here.")),
)
