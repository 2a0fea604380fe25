"""The calls of workers: the list of tasks, the next task, an answer, a return, a heartbeat, misspelt
words."""

from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation import instructions
from annotation.api.contents import done_today, json_second, no_task_answer, offer, task_or_nothing
from annotation.api.problems import Problem, too_many_requests
from annotation.api.requests import not_yours, worker_call
from annotation.api.worker_shapes import (
    AnswerChanged,
    AnswerRequest,
    ConsentRequest,
    EmptyRequest,
    KindRequest,
    RecentAnswers,
    TaskAnswerRequest,
    TaskRenewed,
    TaskRequest,
    TaskReturned,
    TextRequest,
    UnknownWords,
    WorkerConsent,
    WorkerNothing,
    WorkerReceipt,
    WorkerTask,
    WorkerTaskList,
    WorkerTest,
    WorkerToday,
    answer_request,
)
from annotation.common import database
from annotation.common.operations import invalid
from annotation.models import Assignment, Campaign, Worker
from annotation.moderation.reopening import CannotReopen, change_answer
from annotation.protocol.kinds import all_kinds, names
from annotation.protocol.questions import Answer
from annotation.protocol.trust import Refusal
from annotation.quality import qualification
from annotation.queue import leases, submission
from annotation.queue.available_tasks import available_tasks, kinds_of, no_consent, today
from annotation.queue.dispatch import NoTask
from annotation.selectors import spelling
from annotation.selectors.corpora import campaigns_to_work_on
from annotation.selectors.workers.recent_answers import recent_answers
from annotation.task_types.base import TASK_TYPES, answer_in
from annotation.workers.rate_limit import Limit, Try, attempt

_EXAMPLE = {"campaign": "quay", "kind": next(iter(names()))}


@worker_call("worker_tasks", "List what there is to work on", method="GET")
def list_tasks(request: HttpRequest, worker: int, empty: EmptyRequest) -> WorkerTaskList:
    """Return all available tasks of the caller."""
    return {"tasks": [offer(task) for task in available_tasks(worker=Worker.objects.get(pk=worker))]}


@worker_call(
    "worker_next",
    "Take a task of a campaign and kind",
    asks=lambda: TaskRequest,
    errors=(400, 404),
    example=_EXAMPLE,
)
def take_task(request: HttpRequest, worker: int, task_request: TaskRequest) -> WorkerTask | WorkerNothing:
    """Return a task of a campaign and kind, or why there is none."""
    campaign = _campaign(worker, task_request.campaign)
    kind = _kind(campaign, task_request.kind)
    lease = no_consent(worker=worker, campaign=campaign) or leases.take_lease(
        worker=worker, campaign=campaign, kind=kind, holding=task_request.holding
    )
    return task_or_nothing(request, lease)


@worker_call(
    "worker_test",
    "Begin the qualification test of a kind, or go on with it",
    asks=lambda: KindRequest,
    errors=(400, 404),
    example=_EXAMPLE,
)
def begin_worker_test(
    request: HttpRequest, worker: int, kind_request: KindRequest
) -> WorkerTest | WorkerNothing:
    """Begin the qualification test of a kind, or continue it; its items come like other tasks."""
    campaign = _campaign(worker, kind_request.campaign)
    kind = _kind(campaign, kind_request.kind)
    if (unagreed := no_consent(worker=worker, campaign=campaign)) is not None:
        return no_task_answer(unagreed)
    begun = qualification.begin_qualification(worker=worker, campaign=campaign, kind=kind)
    if isinstance(begun, Refusal):
        return no_task_answer(NoTask(begun.code, begun.text))
    return {"items": begun.items, "answered": begun.answered}


@worker_call("worker_consent", "Show what workers of a campaign agree to", method="GET")
def show_consent(request: HttpRequest, worker: int, empty: EmptyRequest, name: str) -> WorkerConsent:
    """Return the consent text of a campaign, and whether the worker must agree."""
    return _consent(worker, _campaign(worker, name))


@worker_call(
    "worker_agree",
    "Agree to a version of the consent text",
    asks=lambda: ConsentRequest,
    errors=(400, 409),
    example={"version": 1},
)
def agree(request: HttpRequest, worker: int, consent: ConsentRequest, name: str) -> WorkerConsent:
    """Store the worker's consent to a version."""
    campaign = _campaign(worker, name)
    try:
        instructions.record_consent(worker=worker, campaign=campaign, version=consent.version)
    except instructions.StaleText as error:
        raise Problem(HTTPStatus.CONFLICT, "stale_text", str(error)) from error
    return _consent(worker, campaign)


def _consent(worker: int, campaign: Campaign) -> WorkerConsent:
    text = instructions.current_text(campaign=campaign, kind=instructions.CONSENT)
    needed = instructions.needs_consent(worker=worker, campaign=campaign)
    return {
        "version": text.version,
        "text": text.text,
        "contact": settings.CONTACT_EMAIL,
        "needed": needed,
    }


@worker_call(
    "worker_answer",
    "Answer a task; the next one comes along",
    asks=lambda: answer_request(TaskAnswerRequest),
    errors=(400, 409, 410, 422),
    example={"answer": "yes", "token": "f3a1", "seconds": 4.2},
)
def answer_task(
    request: HttpRequest, worker: int, payload: TaskAnswerRequest, assignment: int
) -> WorkerReceipt:
    """Store an answer; the response includes the next task unless `next` is false."""
    answer, schema = _answer_of(payload)
    receipt = submission.submit(
        worker=worker,
        assignment=_real(assignment),
        answer=answer,
        token=payload.token,
        seconds=payload.seconds,
        holding=payload.holding,
        then=payload.next,
        schema=schema,
    )
    return {
        "repeated": receipt.repeated,
        "today": _today(worker, assignment) if receipt.repeated else None,
        "next": task_or_nothing(request, receipt.next) if receipt.next else None,
    }


@worker_call(
    "worker_recent_answers",
    "List your last answers of a kind, which you may change",
    asks=lambda: KindRequest,
    errors=(400, 404),
    example=_EXAMPLE,
)
def list_recent_answers(request: HttpRequest, worker: int, kind_request: KindRequest) -> RecentAnswers:
    """Return the worker's latest answers of a kind, which may be changed."""
    campaign = _campaign(worker, kind_request.campaign)
    kind = _kind(campaign, kind_request.kind)
    answers = recent_answers(worker=worker, campaign=campaign.pk, kind=kind)
    return {
        "answers": [
            {
                "id": recent.assignment,
                "answer": recent.answer.answer or None,
                "flag": recent.answer.flag or None,
                "at": json_second(recent.at),
            }
            for recent in answers
        ]
    }


@worker_call(
    "worker_change",
    "Change one of your last answers",
    asks=lambda: answer_request(AnswerRequest),
    errors=(400, 409, 410, 422),
    example={"answer": "no"},
)
def change_recent_answer(
    request: HttpRequest, worker: int, payload: AnswerRequest, assignment: int
) -> AnswerChanged:
    """Change one of the worker's latest answers."""
    answer, schema = _answer_of(payload)
    try:
        changed = change_answer(
            worker=worker,
            assignment=_real(assignment),
            answer=answer,
            schema=schema,
        )
    except CannotReopen as error:
        raise Problem(HTTPStatus.CONFLICT, "stands", str(error)) from error
    return {"changed": changed}


@worker_call("worker_return", "Return a task unanswered", errors=(400, 410))
def give_back(request: HttpRequest, worker: int, empty: EmptyRequest, assignment: int) -> TaskReturned:
    """Return a task unanswered."""
    return {"returned": leases.return_lease(worker=worker, assignment=_real(assignment))}


@worker_call("worker_heartbeat", "Keep a task: its time starts again", errors=(400, 410))
def renew_task(request: HttpRequest, worker: int, empty: EmptyRequest, assignment: int) -> TaskRenewed:
    """Extend the lease from now on."""
    expires = leases.renew_lease(worker=worker, assignment=_real(assignment))
    if expires is None:
        raise not_yours(_("This task is no longer assigned to you."))
    return {"expires_at": json_second(expires)}


def _today(worker: int, assignment: int) -> WorkerToday:
    """Return the worker's work today for the assignment's kind, in its campaign."""
    campaign, kind = Assignment.objects.values_list("campaign", "kind").get(pk=assignment)
    return done_today(today(worker=worker, campaign=campaign, kind=kind))


def _answer_of(answer_request: AnswerRequest) -> tuple[Answer, int]:
    """Return the answer, and the version of its form; the call has its fields, or a page's `form` of a
    `kind`."""
    if answer_request.form is None:
        answer = answer_in(vars(answer_request))
        # The content of an answer is parsed by its kind; no two kinds share such a word.
        with_more = next((kind.key for kind in all_kinds() if answer.answer in kind.with_content), "")
        return (TASK_TYPES.get(with_more).parse(vars(answer_request)) if with_more else answer), 1
    if answer_request.kind is None:
        raise invalid("kind", "missing")
    if answer_request.kind not in TASK_TYPES:
        raise _unknown(_("There is no task “%(kind)s”.") % {"kind": answer_request.kind})
    type = TASK_TYPES.get(answer_request.kind)
    return type.parse(type.from_form(answer_request.form)), type.schema_version


def _real(assignment: int) -> int:
    """Return `assignment`, if it is a possible id."""
    if assignment > database.LARGEST_ID:
        raise not_yours(_("No such task is assigned to you."))
    return assignment


def _campaign(worker: int, name: str) -> Campaign:
    """Return the campaign, if it has begun and this worker may work on it."""
    campaign = campaigns_to_work_on(worker).filter(name=name).exclude(state=Campaign.DRAFT).first()
    if campaign is None:
        raise _unknown(_("There is no campaign “%(name)s”.") % {"name": name})
    return campaign


def _kind(campaign: Campaign, kind: str) -> str:
    known = kinds_of(campaign)
    if kind not in known:
        raise _unknown(
            _("Campaign “%(name)s” has no task “%(kind)s”; it has %(known)s.")
            % {"name": campaign.name, "kind": kind, "known": ", ".join(known)}
        )
    return kind


def _unknown(detail: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "unknown", detail)


#: Maximum number of texts per minute that a worker may have checked: a page sends one at each pause in
#: typing.
LOOKS = Limit("spelling", 240, 60)


@worker_call(
    "worker_spelling",
    "Look for misspelt words in a text",
    asks=lambda: TextRequest,
    errors=(400, 429),
    example={"text": "Two dgos run."},
)
def look_up_words(request: HttpRequest, worker: int, text_request: TextRequest) -> UnknownWords:
    """Return the unknown words of `text`, with suggestions; words of the `campaign`'s corpus are known.

    A campaign that this worker may not work on is ignored, so that its captions are not revealed.
    """
    if seconds := attempt(Try(LOOKS, str(worker))):
        raise too_many_requests(seconds)
    begun = campaigns_to_work_on(worker).exclude(state=Campaign.DRAFT)
    corpus = begun.filter(name=text_request.campaign).values_list("corpus", flat=True).first()
    words = spelling.misspelt_words(text_request.text, corpus=corpus)
    return {"unknown": [{"word": word.word, "suggestions": list(word.suggestions)} for word in words]}
