"""Corpora, exports and bundles that still hold a withdrawn picture, or the work of somebody who was erased.

A withdrawn picture is gone from the server with its exports, and stays in those that were handed out. Of an
erased person a corpus of written captions has the texts, whatever was erased since, and so has everything
made of it; an export or a bundle has the answers of before, under a pseudonym. A copy is listed if it was
made before: one that left out some images may lack the picture, or the person's answers.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _

from annotation.common.operations import OneOf, OperationContext
from annotation.common.roles import RESEARCHER
from annotation.datasets.archives import is_stored
from annotation.jobs.kinds.export_dataset import EXPORTS
from annotation.jobs.status import visible_jobs
from annotation.models import AuditEntry, Campaign, Corpus, Job, Judgment, Layer, TrustState
from annotation.selectors.corpora import CORPORA

CORPUS, EXPORT, BUNDLE = "corpus", "export", "bundle"
COPY_KINDS = {CORPUS: _("Corpus of captions"), EXPORT: _("Export"), BUNDLE: _("Release bundle")}


class _ErasedPerson(NamedTuple):
    worker: int
    at: datetime


class _WrittenCorpus(NamedTuple):
    """The line about its publication, and the erased people among its writers."""

    published: AuditEntry
    people: set[_ErasedPerson]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedCopiesRequest:
    """Corpora, exports and bundles that still hold a withdrawn picture or an erased person's work, of the
    corpora and campaigns that you run. Pass it on to those who have a copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedCopy:
    """A corpus of captions, or the export of a job, with the numbers of withdrawn pictures and of erased
    people that it holds, and the time of the last of these. `stored`: it is still on this server."""

    kind: Annotated[str, OneOf(COPY_KINDS.copy)]
    corpus: str
    campaign: str | None
    job: int | None
    made_at: datetime
    made_by: str | None
    pictures: int
    people: int
    since: datetime
    stored: bool
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutdatedCopies:
    """The copies, the newest first."""

    copies: tuple[OutdatedCopy, ...]


def list_outdated_copies(request: OutdatedCopiesRequest, context: OperationContext) -> OutdatedCopies:
    """Return what still holds a withdrawn picture or an erased person's work."""
    by_campaign, withdrawn = _erased_people(), _withdrawn_pictures()
    in_corpora = _people_in_corpora(by_campaign)
    copies = []
    for row in CORPORA.rows(context.actor, RESEARCHER).filter(name__in=in_corpora, format=Corpus.WRITTEN):
        publication = in_corpora[row.name].published
        copies.append(
            OutdatedCopy(
                kind=CORPUS,
                corpus=row.name,
                campaign=publication.campaign_name,
                job=None,
                made_at=row.created_at,
                made_by=publication.actor_name or None,
                pictures=0,
                stored=True,
                sha256=None,
                **_people(in_corpora[row.name].people),
            )
        )
    exports = visible_jobs(context.actor, RESEARCHER).filter(kind__in=EXPORTS, state=Job.DONE)
    for job in exports.order_by("pk"):
        corpus, campaign = _subject(job)
        made_at = job.finished_at or job.created_at
        people = {person for person in by_campaign[campaign] if person.at > made_at}
        people |= in_corpora[corpus].people if corpus in in_corpora else set()
        pictures = [at for at in withdrawn[corpus] if at > made_at] if job.arguments.get("pictures") else []
        if people or pictures:
            copies.append(
                OutdatedCopy(
                    kind=BUNDLE if job.kind == "export_bundle" else EXPORT,
                    corpus=corpus,
                    campaign=campaign or None,
                    job=job.pk,
                    made_at=made_at,
                    made_by=job.created_by.get_username() if job.created_by is not None else None,
                    pictures=len(pictures),
                    stored=is_stored(job.result.get("path", "")),
                    sha256=job.result.get("sha256"),
                    **_people(people, pictures),
                )
            )
    return OutdatedCopies(copies=tuple(sorted(copies, key=lambda copy: copy.made_at, reverse=True)))


def _people(people: Collection[_ErasedPerson], pictures: Iterable[datetime] = ()) -> dict[str, Any]:
    return {
        "people": len({person.worker for person in people}),
        "since": max([person.at for person in people] + list(pictures)),
    }


def _erased_people() -> defaultdict[str, set[_ErasedPerson]]:
    """Return the erased people with answers in each campaign, by its name."""
    answered = Judgment.objects.filter(
        campaign=OuterRef("campaign"), worker=OuterRef("worker"), kind=OuterRef("kind")
    )
    states = TrustState.objects.filter(Exists(answered), worker__erased_at__isnull=False)
    people = defaultdict[str, set[_ErasedPerson]](set)
    for campaign, worker, at in states.values_list("campaign__name", "worker", "worker__erased_at"):
        assert at is not None
        people[campaign].add(_ErasedPerson(worker, at))
    return people


def _withdrawn_pictures() -> defaultdict[str, list[datetime]]:
    """Return when pictures of each corpus were withdrawn, by its name."""
    withdrawn = defaultdict[str, list[datetime]](list)
    for about, at in AuditEntry.objects.filter(act="withdraw_picture").values_list("about", "at"):
        withdrawn[about["corpus"]].append(at)
    return withdrawn


def _people_in_corpora(by_campaign: Mapping[str, set[_ErasedPerson]]) -> dict[str, _WrittenCorpus]:
    """Return the corpora of written captions that hold those of erased people, by name."""
    corpora: dict[str, _WrittenCorpus] = {}
    lines = AuditEntry.objects.filter(act="publish_captions").select_related("campaign__corpus")
    for line in lines.order_by("pk"):
        people = {person for person in by_campaign.get(line.campaign_name, ()) if person.at > line.at}
        # The captions of earlier rounds come first.
        if line.campaign is not None and line.campaign.corpus.name in corpora:
            people |= corpora[line.campaign.corpus.name].people
        if people:
            corpora[line.about["corpus"]] = _WrittenCorpus(line, people)
    return corpora


def _subject(job: Job) -> tuple[str, str]:
    """Return the names of the corpus and of the campaign that an export is of; "" for no campaign."""
    if job.campaign is not None:
        return job.campaign.corpus.name, job.campaign.name
    corpus, layer = job.arguments["corpus"], job.arguments.get("layer")
    if layer is None:
        layers = list(Layer.objects.filter(corpus__name=corpus).values_list("name", flat=True))
        layer = layers[0] if len(layers) == 1 else ""
    of_campaign = Campaign.objects.filter(corpus__name=corpus, name=layer).exists()
    return corpus, layer if of_campaign else ""
