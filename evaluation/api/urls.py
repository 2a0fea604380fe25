"""Evaluation's part of the REST API that is made by hand."""

from django.urls import URLPattern

from evaluation.api import (
    captions,
    captions_data,
    judged,
    localized,
    queries,
    reports,
    runs,
    systems,
    tagged,
)

#: Whose functions are served.
MODULES = (
    *(systems, captions_data, runs, queries, captions, localized, tagged),
    *(judged, reports),
)
urlpatterns: list[URLPattern] = []
