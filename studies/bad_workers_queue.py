"""`studies.bad_workers` through the queue, with leases, refusals and misconduct.

    [DATABASE_URL=...] python -m studies.bad_workers_queue [--images N] [--seeds N] [--workers N]

Each seed has a campaign of its own over the same generated scenes. When the crowd is done, the answers of
suspended workers to that kind are withdrawn, and the same crowd continues. Without DATABASE_URL the rows are
in a temporary SQLite database. A reviewer's earlier rulings stay in force.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.trust import SUSPENDED
from annotation.protocol.trust_settings import TrustSettings
from annotation.simulation.visits import USUAL_CONDUCT
from studies.bad_workers import BAD, BAD_SHARE, HORIZON, KNOWN_FROM, Report, markdown
from studies.scene_campaigns import imported_scenes, open_scene_campaign

if TYPE_CHECKING:
    from annotation.models import Campaign, Corpus, TrustState


def run(*, images: int, seeds: int, workers: int, good: str) -> Report:
    """Send the images through one crowd for each seed; Django is set up and its database migrated."""
    from annotation.moderation import worker_status
    from annotation.simulation_driver import CrowdPlan, run_campaign_crowd

    report = Report()
    corpus = imported_scenes(KNOWN_FROM + images, source="studies.bad_workers_queue")
    bad = round(workers * BAD_SHARE)
    mix = {good: workers - bad, BAD[0]: bad - bad // 2, BAD[1]: bad // 2}
    for seed in range(seeds):
        campaign = _campaign(corpus, seed)
        first = run_campaign_crowd(
            campaign=campaign, plan=CrowdPlan(mix=mix, seed=seed, conduct=USUAL_CONDUCT, patience=0.0)
        )
        assert first.scores is not None and not any(first.violations.values()), first.violations
        report.before.add(first.scores)
        out = _count(report, campaign, f"sim{seed}-")
        answers = campaign.judgments.filter(image__isnull=False).count()
        for row in out:
            worker_status.withdraw_worker_answers(campaign=campaign, worker=row.worker_id, kind=row.kind)
        report.answers += answers
        report.withdrawn += campaign.judgments.filter(withdrawn=True).count()
        second = run_campaign_crowd(
            campaign=campaign, plan=CrowdPlan(mix=mix, seed=seed, conduct=USUAL_CONDUCT, patience=0.0)
        )
        assert second.scores is not None and not any(second.violations.values()), second.violations
        report.again += campaign.judgments.filter(image__isnull=False).count() - answers
        report.after.add(second.scores)
        alone = _campaign(corpus, seed, name=f"alone{seed}")
        alone_scores = run_campaign_crowd(
            campaign=alone,
            plan=CrowdPlan(mix={good: mix[good]}, seed=seed, conduct=USUAL_CONDUCT, patience=0.0),
        ).scores
        assert alone_scores is not None
        report.without.add(alone_scores)
        print(
            f"seed {seed}: {answers} judgments, {first.seconds:.0f} s and {second.seconds:.0f} s",
            file=sys.stderr,
        )
    return report


def _campaign(corpus: Corpus, seed: int, name: str = "") -> Campaign:
    """Return an open campaign over all images except the first KNOWN_FROM, from which its control items are
    made."""
    from annotation.moderation import control_items

    settings = settings_of({"trust": {"qualification": False}})
    campaign = open_scene_campaign(
        corpus, name or f"crowd{seed}", seed=seed, settings=settings, first=KNOWN_FROM
    )
    known = corpus.images.order_by("position")[:KNOWN_FROM]
    control_items.from_gold(
        campaign=campaign, layer=corpus.layers.get(name="import"), images=[i.key for i in known], seed=seed
    )
    return campaign


def _count(report: Report, campaign: Campaign, prefix: str) -> Sequence[TrustState]:
    """Count the outcomes of the campaign's trust states; return the suspended ones."""
    from annotation.models import TrustState

    settings = TrustSettings(qualification=False)
    ats: dict[str, list[int]] = {}
    out = []
    for row in TrustState.objects.filter(campaign=campaign).select_related("worker"):
        preset = row.worker.pseudonym.removeprefix(prefix).rsplit("-", 1)[0]
        at = _suspended_at(row, settings)
        ats.setdefault(row.worker.pseudonym, [])
        if at is not None:
            out.append(row)
            ats[row.worker.pseudonym].append(at)
        if at is not None or row.items >= HORIZON:
            report.fates[preset, row.kind].update(
                all=1, early=at is not None and at <= HORIZON, ever=at is not None
            )
    for name, positions in ats.items():
        report.people[name.removeprefix(prefix).rsplit("-", 1)[0]].update(
            all=1, early=any(at <= HORIZON for at in positions), ever=bool(positions)
        )
    return out


def _suspended_at(row: TrustState, settings: TrustSettings) -> int | None:
    """Return after how many items a trust state was suspended, from its stored events; None if it was not."""
    from annotation.moderation import trust_replay
    from annotation.protocol.trust import WorkerJoined, trust_after, trust_after_or_same
    from annotation.protocol.trust import WorkerTrust as Pure

    trust = trust_after(Pure(row.kind), WorkerJoined(), settings)
    for _, _, event in sorted(trust_replay.events_of(row), key=lambda numbered: numbered[0]):
        trust = trust_after_or_same(trust, event, settings)
        if trust.state == SUSPENDED:
            assert row.state == SUSPENDED
            return trust.items
    assert row.state != SUSPENDED
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description="What bad workers do, through the queue")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--good", default="careful", metavar="PRESET")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="phrasebox-bad-workers-") as folder:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ["DATA_DIR"] = folder
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        report = run(images=options.images, seeds=options.seeds, workers=options.workers, good=options.good)
        print(markdown(report, good=options.good))


if __name__ == "__main__":
    main()
