"""All URLs: the pages of each app, the API, and the health checks."""

from django.urls import include, path, re_path

from annotation.api import document
from annotation.api.rest.endpoints import endpoints, operation_patterns
from annotation.api.rest.views import operation_view
from config import health

handler500 = "config.errors.not_answered"
V1_PATTERNS = [
    path("openapi.json", document.openapi_document, name="v1_openapi"),
    path("docs", document.api_pages, name="v1_docs"),
    *operation_patterns(operation_view, endpoints()),
]
urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("api/", include("annotation.api.urls")),
    path("api/v1/", include(V1_PATTERNS)),
    re_path(r"^api/", document.no_such_call, name="api_nothing"),
    path("", include("annotation.recruitment.urls")),
    path("", include("annotation.web.urls")),
    path("evaluation/", include("evaluation.web.urls")),
]
