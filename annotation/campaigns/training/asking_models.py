"""Asking a model at an address for boxes, and storing them.

A call is reserved before it is sent, with the most that it may cost, and settled after it, so that calls
never cost more than the budget; what an unknown outcome cost counts as all of that. Every call stays stored
with its raw answer. Boxes are stored image by image: a job that was interrupted continues with the other
images.
"""

import base64
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, NamedTuple

from django.conf import settings as django_settings
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.campaigns import model_annotators
from annotation.campaigns.training.model_addresses import MODEL_ANNOTATOR, newest_address
from annotation.common import database
from annotation.common.operations import Help, OperationContext
from annotation.images.model_pictures import model_picture_address
from annotation.models import ModelAddress, ModelAnnotator, ModelCall
from annotation.notifications.receivers import address_origin
from annotation.notifications.sending import (
    ADDRESS,
    ANSWER_TOO_LARGE,
    CERTIFICATE,
    REDIRECT,
    SendOutcome,
    send,
)
from annotation.protocol import model_calls
from annotation.protocol.campaign_settings import CampaignError
from annotation.protocol.model_annotators import ProposedBox
from annotation.protocol.model_calls import (
    CHAT_PROTOCOL,
    AskedPicture,
    ModelSettings,
    UnreadableAnswer,
    different_phrases,
)
from annotation.protocol.money import Amount, amount_text
from annotation.protocol.terms import ImageRecord, Mention
from annotation.queue import model_answers, submission
from annotation.selectors.corpora import CampaignRequest
from annotation.workers.payments import currency_of

#: Bytes of an answer that are read, and characters that are stored.
MOST_ANSWER, MOST_STORED = 4 * 2**20, 2**16
#: Bytes of a picture that is sent within a call.
MOST_PICTURE = 20 * 2**20
#: Attempts at a call; seconds before the second, doubled before each next; and at most, if the model says.
ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE = 3, 1.0, 60.0
#: Images without an answer in a row after which no more are asked about.
MOST_FAILED = 5
#: Seconds between two looks at running calls; and for which those of an interrupted job are awaited.
_LOOK, _LAST_SECONDS = 0.2, 5.0
#: Statuses after which no call can succeed, and those that may pass.
_HOPELESS = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.GONE,
)
_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_PICTURE_TYPES = {".gif": "gif", ".jpg": "jpeg", ".png": "png", ".webp": "webp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskModelRequest(CampaignRequest):
    """The model at the address is asked about the unfinished images of the model annotator's share for which
    it has no boxes yet. People accept or refuse what it proposes."""

    model_annotator: Annotated[model_annotators.ModelAnnotatorName, MODEL_ANNOTATOR]
    images: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Help(gettext_lazy("Images"), gettext_lazy("At most; by default all")),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedModel:
    """The result of asking a model: the number of images with an answer, of images without one (`failed`),
    and of images that were not asked about, since the budget is spent (`unasked`). `left` counts boxes that
    were left out, by reason. `answers` are questions that the model annotator answered at once."""

    campaign: str
    model_annotator: str
    version: int
    images: int
    failed: int
    unasked: int
    calls: int
    boxes: int
    left: Mapping[str, int]
    spent: Amount
    currency: str
    answers: int


def check_can_ask(request: AskModelRequest, context: OperationContext) -> AskModelRequest:
    """Raise CampaignError unless the model annotator has an address, its pictures may leave the server, and
    nothing else works on it."""
    campaign = request.row()
    annotator = model_annotators.model_annotator_in(campaign, request.model_annotator)
    model_annotators.refuse_busy(annotator)
    _address_to_ask(annotator)
    return request


def _address_to_ask(annotator: ModelAnnotator) -> ModelAddress:
    campaign, address = annotator.campaign, newest_address(annotator)
    if address is None:
        raise CampaignError(
            _("model annotator %(name)s has no address: set one first") % {"name": repr(annotator.name)}
        )
    if not campaign.corpus.pictures_may_leave:
        raise CampaignError(
            _("the pictures of corpus %(name)s may not leave the server: ask its owner, then allow it")
            % {"name": repr(campaign.corpus.name)}
        )
    return address


def ask_model(request: AskModelRequest, context: OperationContext) -> AskedModel:
    """Ask a model annotator's model about images, store its boxes, and let it answer questions.

    Raises CampaignError if the model cannot be asked, or answers no more; what it answered is stored then.
    """
    campaign = request.row()
    annotator = model_annotators.model_annotator_in(campaign, request.model_annotator)
    address = _address_to_ask(annotator)
    with model_annotators.training_run(annotator):
        _take_over(annotator, address)
        images = model_annotators.images_to_propose(campaign, lacking=annotator)[: request.images]
        asking = _Asking(annotator, address, context)
        asking.run(images)
    answers = model_answers.answer_waiting_images(campaign, submission.submit)
    annotator.refresh_from_db()
    currency = currency_of(campaign)
    return AskedModel(
        campaign=campaign.name,
        model_annotator=annotator.name,
        version=annotator.version,
        images=asking.images,
        failed=asking.failed,
        unasked=asking.unasked,
        calls=asking.calls,
        boxes=asking.boxes,
        left=dict(asking.left),
        spent=amount_text(annotator.spent_micros, currency),
        currency=currency,
        answers=answers,
    )


def _take_over(annotator: ModelAnnotator, address: ModelAddress) -> None:
    """Settle the calls that a killed process left, and begin a version if boxes come from elsewhere so
    far."""
    left = ModelCall.objects.filter(address__model_annotator=annotator, state=ModelCall.RUNNING)
    left.update(state=ModelCall.UNKNOWN, error="the process that asked has ended")
    if address.version is None or address.version != annotator.version:
        settings = ModelSettings(**address.settings)
        source = f"{settings.model or 'model'} at {address_origin(address.address)}"
        address.version = model_annotators.record_training(
            annotator, images=None, source=source, external=True
        )
        address.save(update_fields=["version"])


@dataclass(slots=True)
class _Image:
    """An image that is asked about: its mentions by phrase, the calls that are not answered yet, and the
    boxes so far."""

    picture: AskedPicture
    mentions: Mapping[str, tuple[str, ...]]
    open: int
    boxes: dict[str, Sequence[ProposedBox]] = field(default_factory=dict)
    failed: bool = False


@dataclass(slots=True)
class _Attempt:
    """A call about an image that is to be made, not before a time of the monotonic clock."""

    image: _Image
    call: model_calls.CallBody
    attempt: int = 1
    not_before: float = 0.0
    row: ModelCall | None = None


class _Reply(NamedTuple):
    """The outcome of a call, and how long it took in seconds."""

    outcome: SendOutcome
    seconds: float


class _Asking:
    """A run of calls: threads wait for answers, all else happens in the thread of `run`."""

    def __init__(self, annotator: ModelAnnotator, address: ModelAddress, context: OperationContext) -> None:
        self.annotator, self.address, self.context = annotator, address, context
        self.settings = ModelSettings(**address.settings)
        self.images = self.failed = self.unasked = self.calls = self.boxes = 0
        self.left: Counter[str] = Counter()
        self._failed_in_a_row = 0
        self._hopeless = ""
        self._no_money = self._all_begun = False
        self._next_start = 0.0
        self._again: deque[_Attempt] = deque()
        self._rows = dict(annotator.campaign.images.values_list("image__key", "pk"))
        self._headers = {"Content-Type": "application/json", "User-Agent": "Phrasebox/1"}
        if key := django_settings.MODEL_ORIGINS.get(address_origin(address.address)):
            self._headers["Authorization"] = f"Bearer {key}"

    def run(self, images: Sequence[int]) -> None:
        """Ask about these images (ids). Raises CampaignError if the model answers no more."""
        records = model_annotators.records_to_propose(self.annotator.campaign, images)
        new, total = self._attempts(records), len(images)
        running: dict[Future[_Reply], _Attempt] = {}
        pool = ThreadPoolExecutor(self.address.parallel)
        try:
            while True:
                while len(running) < self.address.parallel and (attempt := self._next(new)) is not None:
                    if self._reserve(attempt):
                        running[pool.submit(self._send, attempt)] = attempt
                    elif running:  # they may cost less than was reserved for them
                        self._again.appendleft(attempt)
                        break
                    else:
                        self._no_money = True
                        self._end_call(attempt, failed=True)
                if not running and not self._again and (self._over or self._all_begun):
                    break
                if running:
                    done, _waiting = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._settle(running.pop(future), future.result())
                else:
                    time.sleep(_LOOK)
                self.context.report_progress("asking the model", (self.images + self.failed) / max(1, total))
        finally:
            done, _waiting = wait(running, timeout=_LAST_SECONDS)
            for future in done:
                self._settle(running.pop(future), future.result())
            pool.shutdown(wait=False, cancel_futures=True)
        if self._no_money:
            self.unasked = total - self.images - self.failed
        elif self._hopeless:
            raise CampaignError(
                _("the model at %(address)s cannot be asked: %(why)s. %(images)d images have its boxes.")
                % {
                    "address": address_origin(self.address.address),
                    "why": self._hopeless.rstrip("."),
                    "images": self.images,
                }
            )

    def _attempts(self, records: Iterator[tuple[ImageRecord, tuple[Mention, ...]]]) -> Iterator[_Attempt]:
        """Yield the first attempts at all calls. An image without a picture or phrases gets no boxes."""
        for image_record, mentions in records:
            phrases = different_phrases(mentions)
            picture = self._picture(image_record) if phrases else None
            if picture is None:
                model_annotators.store_proposals(self.annotator, [(image_record.id, {})])
                self.images += 1
                continue
            calls = list(model_calls.calls_of(self.settings, picture, list(phrases)))
            image = _Image(picture, phrases, len(calls))
            for call in calls:
                yield _Attempt(image, call)

    def _picture(self, image: ImageRecord) -> AskedPicture | None:
        path = image.picture
        if path is None or not (image.width and image.height) or not path.is_file():
            return None
        if self.settings.protocol == CHAT_PROTOCOL:
            if path.stat().st_size > MOST_PICTURE:
                return None
            source = _data_url(path)
        else:
            source = f"{django_settings.SITE_URL}{model_picture_address(path.name)}"
        captions = tuple(caption.text for caption in image.captions)
        return AskedPicture(image.id, image.width, image.height, captions, source)

    def _next(self, new: Iterator[_Attempt]) -> _Attempt | None:
        """Return the next attempt that may begin now."""
        now = time.monotonic()
        if now < self._next_start:
            return None
        while self._again and (self._again[0].not_before <= now or self._over):
            attempt = self._again.popleft()
            if not self._over:
                return self._begin(attempt, now)
            self._end_call(attempt, failed=True)
        if self._over:
            return None
        first = next(new, None)
        self._all_begun = first is None
        return None if first is None else self._begin(first, now)

    def _begin(self, attempt: _Attempt, now: float) -> _Attempt:
        self._next_start = max(now, self._next_start) + 60 / self.address.a_minute
        return attempt

    @property
    def _over(self) -> bool:
        return bool(self._hopeless) or self._no_money

    def _reserve(self, attempt: _Attempt) -> bool:
        """Reserve the most that a call may cost; False if the budget does not allow it."""
        most = model_calls.most_cost(self.settings, attempt.call)
        rows = ModelAnnotator.objects.filter(pk=self.annotator.pk)
        with database.writing():
            allowed = rows.filter(spent_micros__lte=F("budget_micros") - most)
            if not allowed.update(spent_micros=F("spent_micros") + most):
                return False
            attempt.row = ModelCall.objects.create(
                address=self.address,
                image_id=self._rows[attempt.image.picture.image],
                phrases=list(attempt.call.phrases),
                reserved_micros=most,
                cost_micros=most,
            )
        self.calls += 1
        return True

    def _send(self, attempt: _Attempt) -> _Reply:
        """Send a call; runs in a thread of its own, without the database."""
        began = time.monotonic()
        outcome = send(
            self.address.address,
            self._headers,
            attempt.call.encoded,
            seconds=self.address.seconds,
            most_bytes=MOST_ANSWER,
            trusted=django_settings.MODEL_ORIGINS,
        )
        return _Reply(outcome, time.monotonic() - began)

    def _settle(self, attempt: _Attempt, reply: _Reply) -> None:
        """Store the outcome of a call and what it cost; use its boxes, or try again."""
        outcome, row = reply.outcome, attempt.row
        assert row is not None
        error, cost, again = "", row.reserved_micros, False
        state, answer = ModelCall.ANSWERED, None
        if outcome.why:
            error = ": ".join(filter(None, (outcome.why, str(outcome.status or ""), outcome.detail)))
            refused = outcome.status is not None and HTTPStatus.BAD_REQUEST <= outcome.status < 500
            again = outcome.status is None or outcome.status >= 500 or outcome.status in _LATER
            known = not outcome.sent or refused or outcome.why == REDIRECT
            state, cost = (ModelCall.FAILED, 0) if known else (ModelCall.UNKNOWN, cost)
            if outcome.why in (ADDRESS, CERTIFICATE, REDIRECT) or outcome.status in _HOPELESS:
                self._hopeless, again = error, False
            again = again and outcome.why != ANSWER_TOO_LARGE
        else:
            known_cost = model_calls.stated_cost(self.settings, outcome.body)
            cost = cost if known_cost is None else known_cost
            try:
                answer = model_calls.boxes_in_answer(
                    self.settings, outcome.body, attempt.image.picture, attempt.call.phrases
                )
            except UnreadableAnswer as problem:
                state, error, again = ModelCall.FAILED, str(problem), True
        row.state, row.status, row.error, row.cost_micros = state, outcome.status, error[:300], cost
        row.answer = outcome.body.decode(errors="replace").replace("\0", "\ufffd")[:MOST_STORED]
        row.seconds, row.left = round(reply.seconds, 3), {} if answer is None else dict(answer.left)
        with database.writing():
            row.save()
            ModelAnnotator.objects.filter(pk=self.annotator.pk).update(
                spent_micros=F("spent_micros") + cost - row.reserved_micros
            )
        if answer is not None:
            self.left.update(answer.left)
            attempt.image.boxes |= answer.boxes
            self._end_call(attempt)
        elif again and attempt.attempt < ATTEMPTS and not self._over:
            pause = _pause(outcome.retry_after, attempt.attempt)
            self._again.append(
                _Attempt(attempt.image, attempt.call, attempt.attempt + 1, time.monotonic() + pause)
            )
        else:
            self._end_call(attempt, failed=True, why=error)

    def _end_call(self, attempt: _Attempt, *, failed: bool = False, why: str = "") -> None:
        """Note that a call is over; with the last one of an image, store its boxes."""
        image = attempt.image
        image.open -= 1
        image.failed |= failed
        if image.open:
            return
        if image.failed:
            if self._no_money:
                return
            self.failed += 1
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= MOST_FAILED and not self._hopeless:
                self._hopeless = why
            return
        self._failed_in_a_row = 0
        boxes = {
            mention: boxes for phrase, boxes in image.boxes.items() for mention in image.mentions[phrase]
        }
        model_annotators.store_proposals(self.annotator, [(image.picture.image, boxes)])
        self.images += 1
        self.boxes += sum(map(len, image.boxes.values()))


def _pause(retry_after: str, attempt: int) -> float:
    """Return the seconds before the next attempt: what the model says, or longer each time."""
    if retry_after.isascii() and retry_after.isdigit():
        return min(LONGEST_PAUSE, float(retry_after[:9]))
    return float(FIRST_PAUSE * 2 ** (attempt - 1))


def _data_url(path: Path) -> str:
    kind = _PICTURE_TYPES[path.suffix]
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
