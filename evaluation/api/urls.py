"""Evaluation's part of the REST API that is made by hand."""

from django.urls import URLPattern

from evaluation.api import systems

#: Whose functions are served.
MODULES = (systems,)
urlpatterns: list[URLPattern] = []
