"""The addresses of evaluation's part of the REST API."""

from annotation.api.rest.operations import operation_patterns
from annotation.api.rest.views import operation_view
from evaluation.api import batches, captions, features, judged, reports, runs, systems

_MODULES = (systems, features, runs, captions, judged, batches, reports)
urlpatterns = operation_patterns(_MODULES, operation_view)
