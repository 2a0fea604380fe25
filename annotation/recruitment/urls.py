"""The addresses by which people come, and those of their accounts."""

from django.urls import include, path

urlpatterns = [
    path("", include(f"annotation.recruitment.{way}"))
    for way in ("accounts", "second_factor", "tokens", "invite", "prolific", "mturk", "visit", "staff")
]
