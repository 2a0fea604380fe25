"""Fields of the requests and responses of workers' calls: validated here, and shown in the OpenAPI document.
Fields of a kind of question are defined in its task type."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, get_type_hints

from django.utils import translation
from pydantic import Discriminator, Field, TypeAdapter
from typing_extensions import TypedDict

from annotation.common.operations import Named, OneOf
from annotation.common.operations.requests import SchemaWithoutTitles
from annotation.protocol.questions import FLAGS, answers_to
from annotation.task_types.base import LONGEST_COMMENT, TASK_TYPES, BoxCorners, TaskImage, TaskType
from annotation.task_types.caption_writing.type import LONGEST_CAPTION

TimeText = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class TaskCaption(TypedDict):
    """A caption of the image."""

    number: int
    text: str
    tokens: list[str]


class TaskMention(TypedDict):
    """A phrase of the question: its caption's number, and its tokens from `start` to before `end`."""

    id: str
    caption: int
    start: int
    end: int


class WorkerTask(TypedDict):
    """A task: what its page shows, and no more."""

    id: int
    kind: str
    expires_at: TimeText | None
    test: bool
    image: TaskImage
    captions: list[TaskCaption]
    mentions: list[TaskMention]
    boxes: list[BoxCorners]
    pending: BoxCorners | None


class WorkerNothing(TypedDict):
    """Why there is no task: a code, a sentence, and when to retry."""

    nothing: str
    text: str
    again_at: TimeText | None


class WorkerToday(TypedDict):
    """The worker's work today; `pay` in the campaign's currency."""

    answers: int
    seconds: float
    pay: float


class WorkerTest(TypedDict):
    """A qualification test: its number of items, and of answered ones."""

    items: int
    answered: int


class WorkerPay(TypedDict):
    """How work is paid."""

    basis: str
    currency: str
    per_item: float
    hourly: float


class WorkerOffer(TypedDict):
    """The tasks of a campaign and a kind; `nothing`, `text` and `again_at` are why there are none."""

    campaign: str
    kind: str
    title: str
    trust: str
    items: int
    test: WorkerTest | None
    in_hand: int
    pay: WorkerPay
    today: WorkerToday
    nothing: str | None
    text: str
    again_at: TimeText | None


class WorkerTaskList(TypedDict):
    """All available tasks."""

    tasks: list[WorkerOffer]


class WorkerConsent(TypedDict):
    """The consent text of a campaign, whether the worker must agree, and the contact's e-mail address; empty
    if there is none."""

    version: int
    text: str
    contact: str
    needed: bool


class WorkerReceipt(TypedDict):
    """An answer was stored: now, or before under the same token (`repeated`); and the next task."""

    repeated: bool
    today: WorkerToday | None
    next: WorkerTask | WorkerNothing | None


class WorkerAnswer(TypedDict):
    """An answer that the worker gave, or the problem that was reported instead."""

    id: int
    answer: str | None
    flag: str | None
    at: TimeText | None


class RecentAnswers(TypedDict):
    """The worker's latest answers of a kind, which may be changed."""

    answers: list[WorkerAnswer]


class UnknownWord(TypedDict):
    """A word that looks misspelt, and suggestions."""

    word: str
    suggestions: list[str]


class UnknownWords(TypedDict):
    """All words that look misspelt."""

    unknown: list[UnknownWord]


class AnswerChanged(TypedDict):
    """Whether the answer differs now."""

    changed: bool


class TaskReturned(TypedDict):
    """Whether the worker held the lease."""

    returned: bool


class TaskRenewed(TypedDict):
    """How long the lease lasts."""

    expires_at: TimeText | None


CampaignName = Annotated[str, Named(), Field(description="A campaign that the worker may work on")]
Holding = Annotated[
    tuple[int, ...], Field(max_length=100, description="Ids that the caller has and does not want again")
]


@dataclass(frozen=True, kw_only=True)
class EmptyRequest:
    """No fields."""


@dataclass(frozen=True, kw_only=True)
class KindRequest:
    """A kind of question in a campaign."""

    campaign: CampaignName
    kind: Annotated[str, Named(), Field(description="The kind of question")]


@dataclass(frozen=True, kw_only=True)
class TaskRequest(KindRequest):
    """A task of a kind."""

    holding: Holding = ()


@dataclass(frozen=True, kw_only=True)
class ConsentRequest:
    """The version of the text to which the worker agrees."""

    version: int


@dataclass(frozen=True, kw_only=True)
class TextRequest:
    """A text whose words are checked; words of the campaign's corpus are known."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_CAPTION)]
    campaign: CampaignName | None = None


def _flags() -> Mapping[str, None]:
    return dict.fromkeys(FLAGS)


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """An answer, or the problem that is reported instead; or the form of a page (`form`, with its `kind`)."""

    answer: Annotated[str | None, Field(description="One of the words that answer the question")] = None
    flag: Annotated[
        Annotated[str, OneOf(_flags)] | None, Field(description="A problem, reported instead")
    ] = None
    comment: Annotated[str | None, Field(max_length=LONGEST_COMMENT, description="On the problem")] = None
    form: Annotated[dict[str, str] | None, Field(description="The fields of a page's form")] = None
    kind: Annotated[str | None, Field(description="The kind of question whose form it is")] = None


@dataclass(frozen=True, kw_only=True)
class TaskAnswerRequest(AnswerRequest):
    """An answer to a leased task. The same token stores once."""

    token: Annotated[str, Field(min_length=1, max_length=64, description="Of your choice")]
    seconds: Annotated[float | None, Field(ge=0, description="The time worked")] = None
    next: Annotated[bool, Field(description="Whether the next task comes along")] = True
    holding: Holding = ()


def answer_request(base: Any) -> type[AnswerRequest]:
    """Return the request of an answer with the fields of every task type's content."""
    request: type[AnswerRequest] = _answer_request(base, TASK_TYPES.keys())
    return request


@cache
def _answer_request(base: Any, kinds: tuple[str, ...]) -> type[AnswerRequest]:
    fields: dict[str, tuple[Any, list[str]]] = {}
    for kind in kinds:
        for name, of in TASK_TYPES.get(kind).answer_fields.items():
            known, takers = fields.setdefault(name, (of, []))
            if known != of:
                raise ValueError(f"answers of {kind} and {takers[0]} have a field {name}, of different types")
            takers.append(kind)
    fields_of_kinds = [
        (name, Annotated[of | None, Field(description=f"In answers to {', '.join(takers)}")], None)
        for name, (of, takers) in fields.items()
    ]
    about = {"__doc__": base.__doc__, "__module__": base.__module__}
    return make_dataclass(
        base.__name__, fields_of_kinds, bases=(base,), namespace=about, kw_only=True, frozen=True
    )


def worker_schemas(answers: Iterable[Any]) -> dict[str, Any]:
    """Return the schemas of the responses to workers' calls; tasks differ by their `kind`."""
    schemas: dict[str, Any] = {}
    for answer in answers:
        schema = _schema(answer)
        schemas |= schema.pop("$defs", {})
        if "title" in schema:
            schemas[schema["title"]] = schema
    tasks = _schema(Annotated[reduce(or_, map(_task_of, TASK_TYPES)), Discriminator("kind")])
    return schemas | tasks.pop("$defs") | {"WorkerTask": {**tasks, "description": WorkerTask.__doc__}}


def _schema(of: Any) -> dict[str, Any]:
    return TypeAdapter(of).json_schema(
        ref_template="#/components/schemas/{model}",
        mode="serialization",
        schema_generator=SchemaWithoutTitles,
    )


def _task_of(type: TaskType) -> Any:
    fields = {
        **get_type_hints(WorkerTask, include_extras=True),
        "kind": Literal[type.key],
        **type.task_fields,
    }
    name = f"{type.key.title().replace('_', '')}Task"
    task = TypedDict(name, fields)  # type: ignore[misc]
    with translation.override("en"):
        task.__doc__ = f"{type.summary} Answers: {', '.join(answers_to(type.key))}."
    return task
