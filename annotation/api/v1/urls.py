"""Annotation's part of the REST API that is made by hand, and the pages about the API."""

from django.urls import path

from annotation.api import document
from annotation.api.v1 import (
    campaigns,
    uploads,
)
from annotation.api.v1.preparing import control_items, plans

#: Whose functions are served.
__all__ = ["campaigns", "control_items", "plans", "uploads"]
urlpatterns = [
    path("openapi.json", document.openapi_document, name="v1_openapi"),
    path("docs", document.api_pages, name="v1_docs"),
]
