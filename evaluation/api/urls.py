"""The addresses of evaluation's part of the REST API."""

from annotation.api.rest.declared import serve_operations
from annotation.api.rest.operations import operation_patterns
from annotation.api.rest.views import operation_view
from evaluation.api import (
    captions,
    captions_data,
    features,
    judged,
    localized,
    queries,
    reports,
    runs,
    systems,
    tagged,
)

_MODULES = (
    *(systems, features, captions_data, runs, queries, captions, localized, tagged),
    *(judged, reports),
)
serve_operations()
_NAMES = (*(module.__name__ for module in _MODULES), "evaluation.operations")
urlpatterns = operation_patterns(_NAMES, operation_view)
