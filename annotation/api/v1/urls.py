"""Annotation's part of the REST API that is made by hand, and the pages about the API."""

from django.urls import path

from annotation.api import document
from annotation.api.v1 import (
    campaigns,
    corpora,
    me,
    notifying,
    people,
    phrases,
    reviewing,
    server,
    streams,
    uploads,
    work,
)
from annotation.api.v1.crowd import machines, own_work, paying, several_workers, workers
from annotation.api.v1.preparing import control_items, plans, texts

#: Whose functions are served.
MODULES = (
    *(corpora, phrases, campaigns, texts, control_items, workers),
    *(plans, several_workers, paying),
    *(reviewing, work, streams, me, own_work, people, machines, uploads, notifying, server),
)
urlpatterns = [
    path("openapi.json", document.openapi_document, name="v1_openapi"),
    path("docs", document.api_pages, name="v1_docs"),
]
