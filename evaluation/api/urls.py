"""Evaluation's part of the REST API that is made by hand."""

from django.urls import URLPattern

from evaluation.api import systems

#: Whose functions are served.
__all__ = ["systems"]
urlpatterns: list[URLPattern] = []
