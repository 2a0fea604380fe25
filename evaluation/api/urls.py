"""The addresses of evaluation's part of the REST API."""

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
urlpatterns = operation_patterns([module.__name__ for module in _MODULES], operation_view)
