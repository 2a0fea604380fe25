"""The addresses by which people come, and those of their accounts."""

from django.urls import include, path

_ACCOUNT = ("accounts", "second_factor", "oidc", "tokens")
_WAYS_IN = ("invite", "prolific", "mturk", "visit", "staff")
urlpatterns = [path("", include(f"annotation.recruitment.{way}")) for way in (*_ACCOUNT, *_WAYS_IN)]
