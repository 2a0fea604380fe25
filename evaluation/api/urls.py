"""Evaluation's part of the REST API that is made by hand."""

from django.urls import URLPattern

from evaluation.api import (
    captions,
    captions_data,
    features,
    localized,
    queries,
    runs,
    systems,
    tagged,
)

#: Whose functions are served.
MODULES = (*(systems, features, captions_data, runs, queries, captions, localized, tagged),)
urlpatterns: list[URLPattern] = []
