"""An open campaign with workers who answer from gold: the start of the queue's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from annotation.models import Campaign, Control, Corpus, Image, OpenImage, Worker
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.contents import question_from
from annotation.protocol.gold import Truth
from annotation.protocol.terms import ImageRecord
from annotation.quality.controls.authoring import raise_revision
from annotation.queue import image_rows, leases, submission
from annotation.queue.leases import Lease, NoTask
from annotation.queue.submission import Answer, Receipt
from annotation.selectors.records import stream_records
from tests import worlds
from tests.factories import a_corpus, some_images

#: Everybody is admitted, without control items or repeated questions: tests of the queue alone.
TRUSTING: dict[str, Any] = {
    "trust": {
        "qualification": False,
        "control_share": 0.0,
        "double_check_share": 0.0,
        "warm_up_known": 1,
        "warm_up_items": 1000,
    }
}
_tokens = count()


class World:
    """An open campaign over a corpus whose layer "import" is the truth."""

    corpus: Corpus
    campaign: Campaign
    truths: dict[int, Truth]
    workers: list[int]

    def __init__(
        self,
        records: Sequence[ImageRecord] | None = None,
        *,
        settings: Mapping[str, Any] = TRUSTING,
        name: str = "quay",
        workers: int = 4,
    ) -> None:
        records = some_images(2) if records is None else records
        displayed = [
            (replace(r, picture=None), r.picture.read_bytes() if r.picture else b"") for r in records
        ]
        digest = worlds.digest(name, workers, settings, displayed)
        created = worlds.again(
            f"World {digest}", lambda: self._built(records, settings, name, workers), at_once=False
        )
        self.corpus, self.campaign, self.truths, self.workers = created

    @staticmethod
    def _built(
        records: Sequence[ImageRecord], settings: Mapping[str, Any], name: str, workers: int
    ) -> tuple[Corpus, Campaign, dict[int, Truth], list[int]]:
        corpus = a_corpus(name, records)
        # Answers come from the truth, so images do not matter.
        plain_value = settings_of({"boxes": "always", **settings})
        campaign = Campaign.objects.create(
            name=name,
            corpus=corpus,
            tasks="entities",
            settings=plain_value.as_dict(),
            state=Campaign.OPEN,
            open_to_all=True,
        )
        truths: dict[int, Truth] = {}
        images = {image.key: image for image in Image.objects.filter(corpus=corpus)}
        opened = []
        for record in stream_records(corpus=corpus, layer=corpus.layers.get(name="import")):
            assert record.layer is not None
            image = images[record.id]
            truth = Truth(record.layer, image=record.id, size=(record.width, record.height))
            truths[image.pk] = truth
            opened.append((image, tuple(truth.mentions.values())))
        image_rows.open_images(campaign=campaign, images=opened, settings=plain_value.protocol)
        created = [Worker.objects.create(pseudonym=f"{name}-w{i}").pk for i in range(workers)]
        return corpus, campaign, truths, created

    def take(self, worker: int, kind: str = q.COREF_LINK, holding: Sequence[int] = ()) -> Lease | NoTask:
        return leases.take_lease(
            worker=self.workers[worker], campaign=self.campaign, kind=kind, holding=holding
        )

    def held(self, worker: int, kind: str = q.COREF_LINK, holding: Sequence[int] = ()) -> Lease:
        """Take a task for the worker and return it; fail if there is none."""
        result = self.take(worker, kind, holding)
        assert isinstance(result, Lease), result
        return result

    def right(self, lease: Lease) -> Answer:
        """Return the correct answer to a lease's question."""
        question = question_from(lease.kind, lease.key, lease.content)
        answer, box = self.truths[lease.image].answer(question)
        return Answer(answer, box)

    def wrong_answer(self, lease: Lease) -> Answer:
        """Return a wrong answer to a question with two answers."""
        right = self.right(lease).answer
        return Answer(next(a for a in q.ANSWERS[lease.kind] if a != right))

    def submit(
        self, worker: int, lease: Lease, answer: Answer | None = None, *, token: str = "", **also: Any
    ) -> Receipt:
        return submission.submit(
            worker=self.workers[worker],
            assignment=lease.id,
            answer=answer or self.right(lease),
            token=token or f"t{next(_tokens)}",
            **also,
        )

    def work(self, kinds: Sequence[str] = q.QUESTIONS, *, enough: Callable[[], bool] = lambda: False) -> int:
        """Let everybody answer correctly in turn until nobody gets a task, or until it is `enough`; return
        the number of answers."""
        provided = 0
        while not enough():
            before = provided
            for worker in range(len(self.workers)):
                for kind in kinds:
                    result = self.take(worker, kind)
                    if isinstance(result, Lease):
                        self.submit(worker, result, then=False)
                        provided += 1
            if provided == before:
                break
        return provided

    def measure_verdicts(self) -> None:
        """Record a control item of Box Quality: from now on verdicts on boxes count for their drawers."""
        Control.objects.create(
            campaign=self.campaign,
            kind=q.BOX_QUALITY,
            image=self.corpus.images.order_by("position")[0],
            key="retired",
            content={},
            known="good",
            stratum="good",
            source="page",
            active=False,
        )
        raise_revision(self.campaign)

    def images(self) -> list[OpenImage]:
        return list(OpenImage.objects.filter(campaign=self.campaign).order_by("position"))
