"""Evaluation's part of the REST API that is made by hand."""

from django.urls import URLPattern

from evaluation.api import (
    queries,
    systems,
)

#: Whose functions are served.
MODULES = (systems, queries)
urlpatterns: list[URLPattern] = []
