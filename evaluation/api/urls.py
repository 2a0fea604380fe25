"""Evaluation's part of the REST API that is made by hand."""

from django.urls import URLPattern

from evaluation.api import (
    captions,
    captions_data,
    features,
    judged,
    localized,
    queries,
    systems,
    tagged,
)

#: Whose functions are served.
MODULES = (
    *(systems, features, captions_data, queries, captions, localized, tagged),
    judged,
)
urlpatterns: list[URLPattern] = []
