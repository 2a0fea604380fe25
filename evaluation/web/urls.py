"""The addresses of evaluation: systems, runs, comparisons, batches, reports."""

from django.urls import path

from evaluation.web import job_lines, systems

app_name = "evaluation"
urlpatterns = [
    path("", systems.listing, name="systems"),
    path("jobs/<int:job>/", job_lines.steer, name="steer_job"),
]
