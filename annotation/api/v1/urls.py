"""The addresses of annotation's part of the REST API."""

from django.urls import path

from annotation.api import document
from annotation.api.rest.operations import operation_patterns
from annotation.api.rest.views import operation_view
from annotation.api.v1 import (
    campaign_settings,
    campaigns,
    corpora,
    machines,
    me,
    notifying,
    preparing,
    reviewing,
    server,
    streams,
    uploads,
    work,
    workers,
)

_MODULES = (
    *(corpora, campaigns, campaign_settings, preparing, workers, reviewing, work, streams, me),
    *(machines, uploads, notifying, server),
)
urlpatterns = [
    path("openapi.json", document.openapi_document, name="v1_openapi"),
    path("docs", document.api_pages, name="v1_docs"),
    *operation_patterns(_MODULES, operation_view),
]
