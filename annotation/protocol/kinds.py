"""Kinds of questions: what the rules need to know of each, entered by the kind itself.

A kind lives in a folder of its own under `annotation.task_types`; its `rules.py` registers a `Kind` here. So
nothing below or beside that folder names a kind: code that must treat kinds differently asks for a property.
The six kinds of the chain are the exception: `image`, `boxes`, `state` and `questions` wire them, since they
are the workflow of the paper.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.words import gettext_noop as _
from phrasebox.errors import PhraseboxError
from phrasebox.registry import Registry

#: What a question is about: a chain of mentions (its answers settle what is asked next), an image, a pair of
#: image and caption, or a page of several images with captions. The last three are only counted.
ABOUT_CHAIN, ABOUT_IMAGE, ABOUT_PAIR, ABOUT_PAGE = ("chain", "image", "pair", "page")

#: What a worker's accuracy is measured on: control items, the verdicts of another kind, or nothing.
MEASURED_ON_CONTROLS = "controls"
MEASURED_ON_VERDICTS = "box quality verdicts"
MEASURED_ON_NOTHING = "nothing"


class BadItem(PhraseboxError):
    """A control item that cannot be one; one line that says what is wrong with it."""


class BadContent(ValueError):
    """An answer's content that is not what was asked for; one line that says what was expected."""


@dataclass(frozen=True, slots=True)
class Grader:
    """How one question kind is graded.

    `right(answer, known, settings)` grades, by the campaign's TrustSettings. `stratum(known)` names the
    answer that a control stands for, over which controls are stratified; it raises ValueError on what
    cannot be a control.
    """

    right: Callable[[Any, Any, Any], bool]
    stratum: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number that a campaign sets, 1 or more.

    `source` says where the default comes from, `help` in one line what it is (marked for translators by
    `words.gettext_noop`).
    """

    default: int
    source: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class WrittenControlItem:
    """A control item as people write it down, of a kind that is only counted.

    `image`: its key. `captions`: (image key, place from 0) of those shown. `caption_ids`: the same captions
    as [image id, place]. `image_id`: the image's id. `sentence`: what a test of sentences asks about.
    """

    image: str
    image_id: int
    known: Any
    captions: tuple[tuple[str, int], ...]
    caption_ids: list[list[int]]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class TestSentence:
    """A sentence of a test that comes with the product: its answer, and why where it is wrong."""

    __test__ = False  # no test of pytest's

    sentence: str
    known: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class PairBatch:
    """How batches of pooled pairs ask a kind of question.

    `seconds`: what an answer takes while nobody has measured it. `filtered`: unlikely pairs are left out
    unless told otherwise. `published`: the format of published judgments that may be used again, if any.
    """

    seconds: float
    filtered: bool = False
    published: str = ""


@dataclass(frozen=True, slots=True)
class AnswerTimeEstimate:
    """Seconds that an answer takes while nobody has measured it: a figure, and from how few to how many.

    `source` says where they come from, marked for translators by `words.gettext_noop`.
    """

    seconds: float
    least: float
    most: float
    source: str


#: Where nobody says how long an answer takes: this long, or by so much less or more.
_UNKNOWN_SECONDS, _UNSURE = 10.0, 2.0


def _same(value: Any) -> Any:
    return value


def _word(answer: Any) -> Any:
    return answer.answer


def _no_content(numbers: Callable[[str], int]) -> dict[str, Any]:
    return {}


def _any_content(content: Mapping[str, Any], numbers: Callable[[str], int]) -> None:
    """Whatever the task type let pass."""


def _no_details(key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return dict(content)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of question.

    What it asks:

    - `key`: its name in keys and rows; `tasks`: the word by which a campaign asks it; `sort_order`: its
      position in lists, the lowest first; `about`: a chain, an image, a pair or a page (ABOUT_CHAIN ...).
    - `answers`: the words that answer it. `with_content`: those of them that say nothing without content.
      `test_answers`: those that answer its test, and nothing but its test.
    - `draws`: an answer may carry a box. `about_boxes`: nobody answers it without the picture. `shows_boxes`:
      it shows accepted boxes, and `needs_boxes`: one at least. `mentions`: the least and the most it is
      about.
    - `writes`: workers answer in words of their own, which go when they are erased.
    - `model_answers`: the answers that a model annotator may give; it gets no task of a kind without any.

    How it is graded:

    - `grader`: right or wrong against a gold answer; None where nobody could say. `strata`: the answers of
      which some control items must be known. `tested`: work begins with a test, where there are items.
    - `measured_on`: CONTROLS, VERDICTS or NOTHING. `judges`: the kind whose answers its own are verdicts on.
    - `bar`, `verdict`, `window`, `over`: the names of the trust settings that hold for it: the least share
      right, the checked answers before a verdict, those looked at, and over how many few are judged.
    - `from_json(known)`: a gold answer as the grader takes it, from its row. `graded(answer)`: what the
    grader
      takes of an answer. `written_known(text, captions)`: a gold answer from a table's cell.
    - `item(written)`: the (content, key) of a control item; raises BadItem. None: it has none.
    - `test_sentences`: the items of a test that comes with the product.
    - `pair_known`: the gold answers of a true and of a wrong pair, where items can be made from captions.
    - `most_true`: the most true captions of a page's control item.

    What is counted:

    - `numbers`: by name, the whole numbers that a campaign sets; under its own key: how many workers answer.
    - `content(number)`: what a question about an image holds, given the campaign's numbers.
    - `check(content, number)`: raises BadContent where an answer's content is not what was asked for.
    - `details(key, content)`: what an answer says beside its word, in exports.
    - `usual`: by table, the settings of its campaigns that differ from those of all others.
    - `batch`: how batches of pooled pairs ask it; None where they do not.
    - `answer_time`: the seconds that an answer takes while nobody has measured it; None: `answer_time_of`
    assumes some.
    - `built_in`: it comes with the product, and its numbers stand in every campaign's stored settings.
    """

    key: str
    tasks: str
    answers: tuple[str, ...]
    about: str = ABOUT_CHAIN
    sort_order: int = 1000
    with_content: frozenset[str] = frozenset()
    test_answers: tuple[str, ...] = ()
    draws: bool = False
    about_boxes: bool = False
    shows_boxes: bool = False
    needs_boxes: bool = False
    mentions: tuple[int, int | None] = (1, None)
    writes: bool = False
    model_answers: tuple[str, ...] = ()
    grader: Grader | None = None
    strata: tuple[str, ...] = ()
    tested: bool = True
    measured_on: str = MEASURED_ON_CONTROLS
    judges: str = ""
    bar: str = "bar"
    verdict: str = "verdict_known"
    window: str = "window"
    over: str = "window"
    from_json: Callable[[Any], Any] = _same
    graded: Callable[[Any], Any] = _word
    written_known: Callable[[str, tuple[tuple[str, int], ...]], Any] | None = None
    item: Callable[[WrittenControlItem], tuple[dict[str, Any], str]] | None = None
    test_sentences: Callable[[], Iterable[TestSentence]] | None = None
    pair_known: tuple[str, str] | None = None
    most_true: int = 0
    numbers: Mapping[str, Number] = field(default_factory=dict)
    content: Callable[[Callable[[str], int]], dict[str, Any]] = _no_content
    check: Callable[[Mapping[str, Any], Callable[[str], int]], None] = _any_content
    details: Callable[[str, Mapping[str, Any]], dict[str, Any]] = _no_details
    usual: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    batch: PairBatch | None = None
    answer_time: AnswerTimeEstimate | None = None
    built_in: bool = False

    @property
    def counted(self) -> bool:
        """Whether so many workers answer each question, whatever they say."""
        return self.about != ABOUT_CHAIN

    @property
    def comparable(self) -> bool:
        """Whether an answer's word says all of it, so that two answers can be compared by it."""
        return not (self.writes or self.with_content)

    @property
    def promotable(self) -> bool:
        """Whether answers that agree can become a control item: of the chain, and no box."""
        return self.about == ABOUT_CHAIN and not self.draws


KINDS: Registry[Kind] = Registry("kind of question")


def kind_of(key: str) -> Kind:
    """The kind of that name; raises UnknownName listing what exists (`task_types.discovery` loads them)."""
    return KINDS.get(key)


def all_kinds() -> tuple[Kind, ...]:
    """Every kind, in the order in which an image meets them."""
    return tuple(sorted(KINDS, key=lambda kind: (kind.sort_order, kind.key)))


def names() -> tuple[str, ...]:
    """The names of all kinds, in their order."""
    return tuple(kind.key for kind in all_kinds())


def all_tasks() -> tuple[str, ...]:
    """What campaigns may ask, in the order of their kinds."""
    return tuple(dict.fromkeys(kind.tasks for kind in all_kinds()))


def kinds_of_tasks(tasks: str) -> tuple[str, ...]:
    """The kinds that a campaign of these tasks asks; none where there are no such tasks."""
    return tuple(kind.key for kind in all_kinds() if kind.tasks == tasks)


def only_kind(tasks: str) -> Kind | None:
    """The one kind that a campaign of these tasks asks; None where it asks several, or there are none."""
    kind = kinds_of_tasks(tasks)
    return kind_of(kind[0]) if len(kind) == 1 else None


def is_counted(key: str) -> bool:
    """Whether there is such a kind, and it is only counted."""
    return key in KINDS and kind_of(key).counted


def draws(key: str) -> bool:
    """Whether there is such a kind, and its answers carry boxes."""
    return key in KINDS and kind_of(key).draws


def answer_time_of(key: str) -> AnswerTimeEstimate:
    """How long an answer of a kind takes while nobody has measured it: what its folder says, else an
    assumption, from half of it to twice as much."""
    kind = kind_of(key)
    if kind.answer_time is not None:
        return kind.answer_time
    seconds = kind.batch.seconds if kind.batch is not None else _UNKNOWN_SECONDS
    low, high = seconds / _UNSURE, seconds * _UNSURE
    return AnswerTimeEstimate(seconds, low, high, _("assumed; nobody has measured it"))


def model_kinds(among: Iterable[str]) -> tuple[str, ...]:
    """Those of the kinds `among` that a model annotator answers."""
    return tuple(key for key in among if key in KINDS and kind_of(key).model_answers)


def is_page(key: str) -> bool:
    """Whether there is such a kind, and a task of it is a page of several images."""
    return key in KINDS and kind_of(key).about == ABOUT_PAGE


def judged_by(key: str) -> str:
    """The kind whose answers are verdicts on the answers of `key`; "" where there is none."""
    return next((kind.key for kind in all_kinds() if kind.judges == key), "")


def judging_kinds() -> tuple[tuple[str, str], ...]:
    """(the kind that gives verdicts, the kind that they are about), for every kind that gives any."""
    return tuple((kind.key, kind.judges) for kind in all_kinds() if kind.judges)


def settings_numbers() -> dict[str, Number]:
    """The whole numbers that campaigns set, by name, in the order of the kinds."""
    return {name: number for kind in all_kinds() for name, number in kind.numbers.items()}


def kind_order(key: str) -> tuple[int, str]:
    """What kinds are sorted by; one that is not there comes last."""
    return (kind_of(key).sort_order, key) if key in KINDS else (10**6, key)
