"""Who may open which page of evaluation, and send its forms: every route, every kind of visitor."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Job
from tests.web.test_access import VISITORS, visitor

pytestmark = pytest.mark.django_db

RUNNERS = {"researcher", "admin"}
#: Route -> the arguments of its address. A 404 counts as allowed: the role is checked first.
PAGES: dict[str, list[str | int]] = {
    "systems": [],
    "system": ["nothing"],
    "train": [],
    "bring": [],
    "features": [],
    "weak_collections": [],
    "runs": [],
    "run": ["nothing"],
    "queries": ["nothing"],
    "query": ["nothing", 1],
    "captions": ["nothing"],
    "qrels_list": [],
    "qrels": ["nothing"],
    "freeze_qrels": [],
    "import_qrels": [],
    "compare": [],
    "batches": [],
    "new_batch": [],
    "batch": ["nothing"],
    "reports": [],
    "new_report": [],
    "report": ["nothing"],
    "report_file": ["nothing", "report.html"],
    "tags": ["nothing"],
}
#: Pages that also accept a POST.
BOTH = (
    *("train", "bring", "freeze_qrels", "import_qrels", "new_batch"),
    "new_report",
)


@pytest.mark.parametrize("kind", VISITORS)
def test_pages_and_acts_are_for_researchers(kind):
    client = visitor(kind)
    requested = [(route, "get") for route in PAGES] + [(route, "post") for route in BOTH]
    for route, way in requested:
        address = reverse(f"evaluation:{route}", args=PAGES[route])
        answer = getattr(client, way)(address)
        if kind in RUNNERS:
            assert answer.status_code in (200, 302, 400, 404, 409), route
            assert not answer.get("Location", "").startswith(reverse("sign_in"))
        elif kind in ("anonymous", "suspended"):
            assert answer["Location"].startswith(reverse("sign_in")), route
        else:
            assert answer.status_code == 403, route


def test_the_header_leads_to_evaluation_for_those_who_may():
    assert 'href="/evaluation/" aria-current' in visitor("researcher").get("/evaluation/").content.decode()
    assert "/evaluation/" not in visitor("reviewer").get("/campaigns/").content.decode()


def test_jobs_of_others_are_not_steered_here():
    job = Job.objects.create(kind="refresh_layer")
    assert visitor("researcher").post(f"/evaluation/jobs/{job.pk}/").status_code == 404
