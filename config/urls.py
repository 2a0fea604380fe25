"""Every address: the pages of each app, their API, and the two questions of a supervisor."""

from django.urls import include, path, re_path

from annotation.api.document import no_such_call
from config import health

handler500 = "config.errors.not_answered"
urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("api/", include("annotation.api.urls")),
    path("api/v1/", include("config.api_addresses")),
    re_path(r"^api/", no_such_call, name="api_nothing"),
    path("", include("annotation.recruitment.urls")),
    path("", include("annotation.web.urls")),
    path("evaluation/", include("evaluation.web.urls")),
]
