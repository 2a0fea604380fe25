"""A world in which every operation can succeed: campaigns of all kinds, people, systems, a batch, a report.

It is small, since the subject is how calls are handled, not the amount of data.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

import numpy as np
from django.conf import settings

from annotation import campaigns, instructions, jobs
from annotation.common.operations import OperationContext
from annotation.datasets.tags import save_tags
from annotation.models import Account, Campaign, Identity, Job, Worker
from annotation.models.crowd import ROLES
from annotation.moderation import control_items
from annotation.protocol import questions as q
from annotation.protocol.paging import Pair
from annotation.workers import invitations, platform_visits
from evaluation.models import (
    CaptionSet,
    LocalizationSet,
    PhraseLocalization,
    Run,
    System,
    TaggedImage,
    TagSet,
    WrittenCaption,
)
from evaluation.services.batches.launching import launch
from evaluation.services.batches.planning import BatchRequest, plan
from evaluation.services.judgments.freezing import freeze_protocol
from evaluation.services.judgments.importing import JudgmentsImport, import_judgments
from evaluation.services.reports import building
from evaluation.services.reports.request import ReportRequest
from evaluation.services.runs.files import RunImport, import_run
from evaluation.services.systems.upload import STORED_SCORES, AddSystemRequest, add_system
from evaluation.services.weak.collections import import_collection
from tests import worlds
from tests.crowd import platform
from tests.evaluation.database.conftest import matrix_file
from tests.evaluation.database.pooled_world import UNTESTED
from tests.models_core.features.image.networks import colours
from tests.queue.world import TRUSTING, World
from tests.review.world import THE_MAN, a_man, refuse, report, the_world
from tests.web import world as web

#: Number of images of the main corpus, `quay`; a third of them each of train, val and test.
IMAGES = 6
#: Campaigns of counted questions, by their tasks.
COUNTED = ("relevance", "graded", "captions", "regions")
MEASURES = ["R@1", "MRR"]


def again(folder: Path) -> None:
    """Restore the result of `build`, which runs once: rows are restored, and files copied into DATA_DIR."""
    stored = worlds.again("every operation can succeed", lambda: _stored(folder))
    # Restoring rows may have created the folder, and files in it.
    shutil.copytree(stored, settings.DATA_DIR, dirs_exist_ok=True)


def _stored(folder: Path) -> Path:
    """Build, and copy the files that the rows refer to."""
    build(folder)
    path = Path(tempfile.mkdtemp(prefix="world-", dir=Path(settings.DATA_DIR).parent)) / "data"
    shutil.copytree(settings.DATA_DIR, path)
    return path


def build(folder: Path) -> None:
    """Build all of it. Accounts are named after their roles; each has `annotator` besides, except
    `reader`."""
    folder.mkdir(parents=True, exist_ok=True)
    for role in ROLES:
        account = web.account(role, *{role, "annotator"})
        account.email = f"{role}@example.org"
        account.save()
    work = World([web.scene(number, folder) for number in range(IMAGES)], workers=4)
    for role in ROLES:
        worker = Worker.objects.create(pseudonym=f"w-{role}")
        Identity.objects.create(worker=worker, account=Account.objects.get(username=role))
    _agreed(work.campaign)
    save_tags(
        corpus=work.campaign.corpus,
        images=[("scene-1", [("dog", 0.9), ("soccer field", 0.5)]), ("scene-2", [("cat", 0.4)])],
        unit="compounds",
        alpha=0.5,
    )
    work.submit(0, work.held(0), then=False)
    for tasks in COUNTED:
        _counted(tasks)
    _tested()
    _reviewed()
    _come(work)
    _evaluated(folder)
    _exported(work.campaign)


def numbers(rows: int = 3, columns: int = 3) -> bytes:
    """Return a file of scores, or of vectors."""
    out = io.BytesIO()
    np.save(out, np.eye(rows, columns))
    return out.getvalue()


def _agreed(campaign: Campaign) -> None:
    """Remove the consent text."""
    instructions.publish_text(campaign=campaign, kind=instructions.CONSENT, text="")


def _counted(tasks: str) -> None:
    campaign = campaigns.create_campaign(
        name=tasks, corpus="quay", tasks=tasks, settings=TRUSTING, open_to_all=True
    )
    if campaigns.asks_pairs(tasks):
        # Those of `train` are for control items.
        questions = [n for n in range(IMAGES) if n % 3]
        pairs = [Pair(f"scene-{n}", f"scene-{m}#{k}") for n in questions for m in questions for k in range(2)]
        campaigns.open_pairs(campaign=campaign, pairs=pairs)
    else:
        campaigns.open_campaign_images(campaign=campaign)
    campaigns.begin_campaign(campaign=campaign)
    _agreed(campaign)


def _tested() -> None:
    """Create a campaign whose workers must consent and pass a test before they begin, and a paused one."""
    campaign = campaigns.create_campaign(
        name="tested", corpus="quay", tasks="entities", settings={}, open_to_all=True
    )
    instructions.publish_text(campaign=campaign, kind=instructions.CONSENT, text="You agree to be kind.")
    campaigns.open_campaign_images(campaign=campaign, images=2)
    control_items.from_gold(campaign=campaign, layer=campaign.corpus.layers.get(name="import"))
    campaigns.begin_campaign(campaign=campaign)
    paused = campaigns.open_campaign(
        campaigns.CampaignPlan(
            name="paused", corpus="quay", tasks="captions", settings=TRUSTING, open_to_all=True
        )
    )
    campaigns.pause_campaign(campaign=paused, reason="")


def _reviewed() -> None:
    """Create a campaign whose one image waits for a reviewer, with a report."""
    result = the_world([a_man(picture=None)])
    report(result, q.COREF_LINK, worker=3, comment="=1+1", mention=THE_MAN)
    refuse(result)


def _come(work: World) -> None:
    """Create an invitation, and a study of each platform; nobody has come yet."""
    invitations.make_invitation(campaign=work.campaign, label="class")
    platform.prolific_study(work)
    platform.turk_study(work)
    platform_visits.save_study(
        campaign=Campaign.objects.get(name="graded"), provider=platform_visits.MTURK, answers_required=1
    )


def _evaluated(folder: Path) -> None:
    """Create a system that ranks, runs of two others, qrels, a batch with questions, a report."""
    images = [f"scene-{n}.png" for n in range(IMAGES)]
    captions = [f"{image}#0" for image in images]
    runs: list[str] = []
    good, bad = np.eye(IMAGES), -np.eye(IMAGES) + np.arange(IMAGES) / 10
    for name, scores in (("good", good), ("bad", bad), ("spare", good)):
        file = matrix_file(folder, name, scores, images, captions)
        request = AddSystemRequest(name=name, corpus="quay", file=file, format=STORED_SCORES)
        add_system(request, OperationContext(by_path=True))
        for direction in (Run.ANNOTATION, Run.SEARCH):
            run = f"{name}-{direction}"
            runs += [run] if name != "spare" else []
            import_run(
                RunImport(
                    name=run, corpus="quay", file=file, format="scores", direction=direction, system=name
                ),
                OperationContext(),
            )
    written = CaptionSet.objects.create(
        corpus=System.objects.get(name="good").corpus,
        name="written",
        made_by=System.objects.get(name="good"),
        image_count=1,
        caption_count=1,
        published=True,
    )
    image = written.corpus.images.order_by("position")[0]
    WrittenCaption.objects.create(caption_set=written, position=0, image=image, text="a boat at a quay")
    localization_set = LocalizationSet.objects.create(
        corpus=written.corpus, name="found", made_by=written.made_by, mention_count=1, published=True
    )
    PhraseLocalization.objects.create(
        localization_set=localization_set,
        position=0,
        image=image,
        caption=0,
        start=0,
        end=1,
        phrase="a boat",
        regions=np.array([[1, 1, 9, 9, 0.5]], "<f4").tobytes(),
    )
    tagged = TagSet.objects.create(
        corpus=written.corpus, name="tagged", made_by=written.made_by, image_count=1, published=True
    )
    TaggedImage.objects.create(tag_set=tagged, position=0, image=image, tags=[["boat", 0.5]])
    networks = Path(settings.DATA_DIR) / "sources" / "networks"
    networks.mkdir(parents=True, exist_ok=True)
    colours(networks / "colours.onnx")
    _collected(networks.parent)
    freeze_protocol(name="own", corpus="quay", protocol="first caption")
    grades = folder / "grades.csv"
    grades.write_text(f"image,caption,grade\n{images[2]},{captions[2]},4.5\n{images[2]},{captions[5]},1\n")
    import_judgments(
        JudgmentsImport(corpus="quay", file=grades, format="table", name="graded", scale="0-5"),
        OperationContext(),
    )
    launch(plan(BatchRequest(corpus="quay", runs=runs, depth=2, campaign_settings=UNTESTED)), "batch")
    building.build_report(
        ReportRequest(name="spring", qrels="own", runs=runs, measures=MEASURES, rounds=50, resamples=20),
        OperationContext(),
    )


def _collected(sources: Path) -> None:
    """Create server files with parses, a weak collection and its features; one collection is imported."""
    for kind in ("collections", "features", "parses"):
        (sources / kind).mkdir(parents=True, exist_ok=True)
    (sources / "collections" / "weak.csv").write_text("id,title\nx,a boat\ny,a quay\n")
    np.savez(sources / "features" / "weak.npz", vectors=np.eye(2), ids=np.array(["x", "y"]))
    (sources / "parses" / "quay.conllu").write_text("# sent_id = none\n1\tBoats\t_\t_\t_\t_\t0\troot\t_\t_\n")
    import_collection("weak", sources / "collections" / "weak.csv")


def _exported(campaign: Campaign) -> None:
    """Create a finished export, a waiting one, and a waiting job of evaluation."""
    arguments = {"corpus": "quay", "format": "jsonl", "layer": "import"}
    done = jobs.enqueue(kind="export_dataset", arguments=arguments, campaign=campaign)
    assert jobs.run_queued_job(done.pk) == Job.DONE
    jobs.enqueue(kind="export_dataset", arguments={**arguments, "format": "coco"}, campaign=campaign)
    stopped = jobs.enqueue(kind="refresh_layer", arguments={"campaign": campaign.name}, campaign=campaign)
    jobs.cancel_job(job_id=stopped.pk)
    jobs.enqueue(kind="collect_judgments", arguments={"batch": "batch"})
