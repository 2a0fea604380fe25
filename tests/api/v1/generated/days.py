"""An annotator's half hour and a researcher's afternoon, with a client made by openapi-python-client.

`python days.py SERVER ANNOTATOR_TOKEN RESEARCHER_TOKEN RUN_FILE`; `made` is the generated package. Prints the
results as JSON.
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

from made import AuthenticatedClient  # type: ignore[import-not-found]
from made import models as m
from made.api.batches import batch_status, open_batch, plan_batch  # type: ignore[import-not-found]
from made.api.campaigns import (  # type: ignore[import-not-found]
    campaign_status,
    open_campaign,
    pause_campaign,
    resume_campaign,
)
from made.api.corpora import list_corpora, show_corpus  # type: ignore[import-not-found]
from made.api.exports import download_export, export_campaign  # type: ignore[import-not-found]
from made.api.jobs import show_job  # type: ignore[import-not-found]
from made.api.qrels import freeze_qrels, show_qrels  # type: ignore[import-not-found]
from made.api.reports import build_report, download_report, show_report  # type: ignore[import-not-found]
from made.api.runs import archive_run, compare_runs, import_run, score_run  # type: ignore[import-not-found]
from made.api.systems import rank  # type: ignore[import-not-found]
from made.api.work import (  # type: ignore[import-not-found]
    worker_answer,
    worker_change,
    worker_consent,
    worker_heartbeat,
    worker_next,
    worker_recent_answers,
    worker_return,
    worker_spelling,
    worker_tasks,
)
from made.types import File  # type: ignore[import-not-found]

UNTESTED = {"trust": {"qualification": False}}


def parsed(call: Any, **more: Any) -> Any:
    """Return a call's response as the client parses it."""
    answer = call.sync_detailed(**more)
    assert 200 <= answer.status_code < 300, (call.__name__, answer.status_code, answer.content)
    assert answer.parsed is not None or answer.status_code == 204, (call.__name__, answer.content)
    return answer.parsed


def answer_to(task: Any) -> dict[str, Any]:
    """Return an answer, by the kind of the task; each kind is a class."""
    match task:
        case m.CorefLinkTask():
            assert len(task.mentions) == 2
            return {"answer": "yes"}
        case m.ChainVerificationTask():
            return {"answer": "true"}
        case m.BoxRequirementTask():
            return {"answer": "box"}
        case m.BoxDrawingTask():
            way = m.WorkerAnswerTaskAnswerRequestWayType0.DRAG
            return {"answer": "drawn", "box": [3, 4, task.image.width, task.image.height], "way": way}
        case m.BoxQualityTask():
            assert len(task.pending) == 4
            return {"answer": "good"}
        case m.BoxCoverageTask():
            assert task.boxes
            return {"answer": "complete"}
        case m.RelevanceTask() | m.TagRelevanceTask():
            return {"answer": "judged", "ticked": [[True] * len(block.captions) for block in task.blocks]}
        case m.GradedRelevanceTask():
            assert task.caption
            return {"answer": "3"}
        case m.CaptionWritingTask():
            assert task.sentence is None
            return {"answer": "written", "text": "Two people walk in a park."}
        case m.RegionDescriptionTask():
            regions = [
                m.RegionPayload(box=[n + 1, 1, n + 60, 90], text=f"a part {n}") for n in range(task.regions)
            ]
            return {"answer": "described", "regions": regions}
    raise AssertionError(task)


def half_hour(client: Any) -> list[str]:
    """Take, renew and answer every kind; return one task, report one, change one answer."""
    done = []
    assert parsed(worker_consent, client=client, name="captions").needed is False
    words = parsed(worker_spelling, client=client, body=m.WorkerSpellingTextRequest(text="Two dgos run."))
    assert words.unknown[0].word == "dgos"
    for offer in parsed(worker_tasks, client=client).tasks:
        if offer.nothing is not None or offer.kind in done or offer.campaign == "tested":
            continue
        requested = m.WorkerNextTaskRequest(campaign=offer.campaign, kind=offer.kind)
        task = parsed(worker_next, client=client, body=requested)
        if isinstance(task, m.WorkerNothing):
            continue
        assert task.kind == offer.kind
        assert parsed(worker_heartbeat, client=client, assignment=task.id).expires_at is not None
        body = m.WorkerAnswerTaskAnswerRequest(token=f"t{task.id}", seconds=2.5, **answer_to(task))
        receipt = parsed(worker_answer, client=client, assignment=task.id, body=body)
        assert receipt.repeated is False
        done.append(offer.kind)
        if not isinstance(receipt.next_, m.WorkerNothing):
            assert parsed(worker_return, client=client, assignment=receipt.next_.id).returned
        if offer.kind == "coref_link":
            kind = m.WorkerRecentAnswersKindRequest(campaign=offer.campaign, kind=offer.kind)
            (last,) = parsed(worker_recent_answers, client=client, body=kind).answers
            changed = m.WorkerChangeAnswerRequest(answer="no")
            assert parsed(worker_change, client=client, assignment=last.id, body=changed).changed
    return sorted(done)


def afternoon(client: Any, run_file: Path) -> dict[str, Any]:
    """Import and compare runs, open a campaign and a batch, rank with a system, export everything."""

    def finished(job: Any) -> Any:
        while (now := parsed(show_job, client=client, job=job.number)).state in ("queued", "running"):
            time.sleep(0.1)
        assert now.state == "done", now
        return now

    assert "quay" in {row.name for row in parsed(list_corpora, client=client).results}
    assert parsed(show_corpus, client=client, corpus="quay").layers
    direction = m.ImportRunRunImportDirection.ANNOTATION
    for name in ("first", "second"):
        file = File(payload=io.BytesIO(run_file.read_bytes()), file_name=f"{name}.trec")
        body = m.ImportRunRunImport(
            name=name, corpus="quay", direction=direction, file=file, system=f"of-{name}"
        )
        assert parsed(import_run, client=client, body=body, idempotency_key=name).run == name
    freeze = m.FreezeQrelsJsonFreezeRequest(
        name="originals",
        corpus="quay",
        protocol=m.FreezeQrelsJsonFreezeRequestProtocolType0("first caption"),
    )
    finished(parsed(freeze_qrels, client=client, body=freeze))
    assert parsed(show_qrels, client=client, qrels="originals").name == "originals"
    assert parsed(score_run, client=client, run="first", qrels="originals") is not None
    compared = parsed(
        compare_runs, client=client, runs=["first", "second"], qrels="originals", measures=["MRR"], rounds=50
    )
    finished(
        parsed(
            rank,
            client=client,
            system="spare",
            body=m.RankRankRunsRequest.from_dict(
                {"name": "ranked", "split": "test", "protocol": "first caption"}
            ),
        )
    )

    plan = m.OpenCampaignJsonOpenCampaignRequest.from_dict(
        {
            "name": "afternoon",
            "corpus": "quay",
            "tasks": "entities",
            "unpaid": True,
            "images": 2,
        }
    )
    job = parsed(open_campaign, client=client, body=plan).job
    assert job is None or finished(job)
    parsed(
        pause_campaign,
        client=client,
        campaign="afternoon",
        body=m.PauseCampaignPauseCampaignRequest(reason="Tea."),
    )
    parsed(resume_campaign, client=client, campaign="afternoon")
    state = parsed(campaign_status, client=client, campaign="afternoon").state

    pooled = {
        "corpus": "quay",
        "runs": ["good-annotation", "bad-annotation"],
        "depth": 1,
        "campaign_settings": UNTESTED,
    }
    assert parsed(plan_batch, client=client, body=m.PlanBatchBatchRequest.from_dict(pooled)) is not None
    opened = m.OpenBatchOpenBatchRequest.from_dict({**pooled, "name": "pooled"})
    finished(parsed(open_batch, client=client, body=opened))
    assert parsed(batch_status, client=client, batch="pooled").summary.name == "pooled"

    expected = m.ExportCampaignExportCampaignRequest.from_dict({"format": "jsonl", "unfinished": "include"})
    job = finished(parsed(export_campaign, client=client, campaign="quay", body=expected))
    archive = parsed(download_export, client=client, job=job.number).payload.read()
    report = m.BuildReportReportRequest(
        name="afternoon",
        qrels="originals",
        runs=["first", "second"],
        measures=["MRR"],
        rounds=50,
        resamples=20,
    )
    finished(parsed(build_report, client=client, body=report))
    assert parsed(show_report, client=client, report="afternoon").files
    files = parsed(download_report, client=client, report="afternoon").payload.read()
    hidden = m.ArchiveRunArchiveRunRequest(archived=True)
    parsed(archive_run, client=client, run="second", body=hidden)
    return {
        "systems": len(compared.systems),
        "state": str(state),
        "exported": len(archive) > 0,
        "report": files[:2].decode(),
    }


def main(server: str, annotator: str, researcher: str, run_file: str) -> None:
    """Run both, and print their results."""
    worker = AuthenticatedClient(base_url=server, token=annotator, prefix="Token", timeout=60)
    caller = AuthenticatedClient(base_url=server, token=researcher, timeout=60)
    print(json.dumps({"kinds": half_hour(worker), **afternoon(caller, Path(run_file))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
