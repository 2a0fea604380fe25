"""The addresses of the REST API: the operations of every app, and the pages about them."""

from django.urls import path

from annotation.api import document
from annotation.api.rest.declared import serve_operations
from annotation.api.rest.operations import operation_patterns
from annotation.api.rest.views import operation_view

serve_operations()
urlpatterns = [
    path("openapi.json", document.openapi_document, name="v1_openapi"),
    path("docs", document.api_pages, name="v1_docs"),
    *operation_patterns(operation_view),
]
