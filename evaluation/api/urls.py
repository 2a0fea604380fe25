"""Evaluation's part of the REST API that is made by hand."""

from django.urls import URLPattern

from evaluation.api import (
    captions_data,
    features,
    systems,
)

#: Whose functions are served.
MODULES = (systems, features, captions_data)
urlpatterns: list[URLPattern] = []
