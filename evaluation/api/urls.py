"""The addresses of evaluation's part of the REST API."""

from annotation.api.rest.operations import patterns
from annotation.api.rest.views import operation_view
from evaluation.api import batches, judged, reports, runs, systems

#: The modules whose operations these are.
OPERATIONS = (systems, runs, judged, batches, reports)
urlpatterns = patterns("evaluation", operation_view)
