"""Kinds of questions: the properties of each that the rules need, registered by the kind itself.

A kind has a folder of its own under `annotation.task_types`; its `rules.py` registers a `Kind` here. Code
outside that folder names no kind: it asks for a property. The six kinds of the chain are the exception:
`image`, `boxes`, `state` and `questions` refer to them directly, since they are the workflow of the paper.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.protocol.setting_types import LARGEST_NUMBER
from annotation.protocol.words import gettext_noop as _
from phrasebox.errors import PhraseboxError
from phrasebox.registry import Registry

#: Subject of a question: a chain of mentions (its answers determine the next questions), an image, a pair of
#: image and caption, or a page of several images with captions. The last three are counted.
ABOUT_CHAIN, ABOUT_IMAGE, ABOUT_PAIR, ABOUT_PAGE = ("chain", "image", "pair", "page")

#: Basis of a worker's accuracy: control items, the verdicts of another kind, or nothing.
MEASURED_ON_CONTROLS = "controls"
MEASURED_ON_VERDICTS = "box quality verdicts"
MEASURED_ON_NOTHING = "nothing"


class BadItem(PhraseboxError):
    """An invalid control item; the message is one line."""


class BadContent(ValueError):
    """Invalid content of an answer: the field, and one line that says what was expected, marked for
    translators by `words.gettext_noop`, with its values."""

    def __init__(self, field: str, text: str, **params: object) -> None:
        self.field, self.text, self.params = field, text, params
        super().__init__(text % params)


@dataclass(frozen=True, slots=True)
class Grader:
    """How answers to one kind of question are graded.

    `right(answer, known, settings)` grades by the campaign's TrustSettings. `stratum(known)` returns the gold
    answer by which controls are stratified; it raises ValueError for an invalid one.
    """

    right: Callable[[Any, Any, Any], bool]
    stratum: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number that a campaign sets, from 1 to `most`.

    `source` is the source of the default, `help` a description in one line (marked for translators by
    `words.gettext_noop`). `from_number`: the name of a number of the kind that it may not be less than.
    """

    default: int
    source: str
    help: str = ""
    most: int = LARGEST_NUMBER
    from_number: str = ""


@dataclass(frozen=True, slots=True)
class WrittenControlItem:
    """A control item as people write it, of a counted kind.

    `image`: its key. `captions`: (image key, index) of those shown. `caption_ids`: the same captions as
    [image id, index]. `image_id`: the image's id. `sentence`: the subject of a test of sentences.
    """

    image: str
    image_id: int
    known: Any
    captions: tuple[tuple[str, int], ...]
    caption_ids: list[list[int]]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class TestSentence:
    """A sentence of a built-in test: its answer, and the reason if it is wrong."""

    __test__ = False  # not a test of pytest's

    sentence: str
    known: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class PairBatch:
    """How batches of pooled pairs use a kind of question.

    `seconds`: the time for an answer until one is measured. `filtered`: unlikely pairs are skipped by
    default. `published`: the format of published judgments that may be reused, if any.
    """

    seconds: float
    filtered: bool = False
    published: str = ""


@dataclass(frozen=True, slots=True)
class AnswerTimeEstimate:
    """Estimate of the seconds for an answer until they are measured: a figure with its lower and upper bound.

    `source` is the source of the estimate, marked for translators by `words.gettext_noop`.
    """

    seconds: float
    least: float
    most: float
    source: str


#: Default answer time in seconds, and the factor to its bounds.
_UNKNOWN_SECONDS, _UNSURE = 10.0, 2.0


def _same(value: Any) -> Any:
    return value


def _word(answer: Any) -> Any:
    return answer.answer


def _no_content(numbers: Callable[[str], int]) -> dict[str, Any]:
    return {}


def _any_content(content: Mapping[str, Any], numbers: Callable[[str], int]) -> None:
    """Accept any content."""


def _no_details(key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return dict(content)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of question.

    The question:

    - `key`: its name in keys and rows; `tasks`: the word for it in a campaign's settings; `sort_order`: its
      position in lists, the lowest first; `about`: a chain, an image, a pair or a page (ABOUT_CHAIN ...).
    - `answers`: the words that answer it. `with_content`: those of them that need content. `test_answers`:
      those that only answer its test.
    - `draws`: an answer may have a box. `about_boxes`: it needs the picture. `shows_boxes`: it shows accepted
      boxes, and `needs_boxes`: at least one. `mentions`: the minimum and maximum number of its mentions.
    - `faults`: the answers that see a fault in a caption that somebody wrote, if it asks about such ones.
    - `writes`: workers answer in their own words, which are erased with them.
    - `model_answers`: the answers that a model annotator may give; it gets no tasks of a kind without any.

    Grading:

    - `grader`: right or wrong against a gold answer; None if answers cannot be graded. `strata`: the answers
      that each need control items. `tested`: work begins with a test, if there are items.
    - `measured_on`: CONTROLS, VERDICTS or NOTHING. `judges`: the kind whose answers its own are verdicts on.
    - `bar`, `verdict`, `window`, `over`: the names of its trust settings: the minimum share of right answers,
      the number of checked answers before a verdict, the number that are considered, and the number over
      which a few are judged.
    - `from_json(known)`: a gold answer for the grader, from its row. `graded(answer)`: the part of an answer
      for the grader. `written_known(text, captions)`: a gold answer from a table's cell.
    - `item(written)`: the (content, key) of a control item; raises BadItem. None: it has none.
    - `test_sentences`: the items of a built-in test.
    - `pair_known`: the gold answers of a true and of a wrong pair, if items can be made from captions.
    - `most_true`: the maximum number of true captions of a page's control item.

    Counting:

    - `numbers`: the whole numbers that a campaign sets, by name; under its own key: the number of workers who
      answer.
    - `content(number)`: the content of a question about an image, for the campaign's numbers.
    - `check(content, number)`: raises BadContent if an answer's content is invalid.
    - `details(key, content)`: the fields of an answer besides its word, in exports.
    - `usual`: settings of its campaigns that differ from the general defaults, by table.
    - `batch`: how batches of pooled pairs use it; None if they do not.
    - `answer_time`: the seconds for an answer until they are measured; None: a default of `answer_time_of`.
    - `built_in`: it is part of the product, and its numbers are in every campaign's stored settings.
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
    faults: tuple[str, ...] = ()
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
        """Whether a fixed number of workers answers each question, whatever their answers."""
        return self.about != ABOUT_CHAIN

    @property
    def writes_captions(self) -> bool:
        """Whether workers write captions of images."""
        return self.writes and self.about == ABOUT_IMAGE

    @property
    def comparable(self) -> bool:
        """Whether an answer is fully described by its word, so that two answers can be compared by it."""
        return not (self.writes or self.with_content)

    @property
    def promotable(self) -> bool:
        """Whether answers that agree can become a control item: kinds of the chain, without a box."""
        return self.about == ABOUT_CHAIN and not self.draws


KINDS: Registry[Kind] = Registry("kind of question")


def kind_of(key: str) -> Kind:
    """Return the kind of that name. Raises UnknownName listing all kinds (`task_types.discovery` loads
    them)."""
    return KINDS.get(key)


def all_kinds() -> tuple[Kind, ...]:
    """Return every kind, in the order of an image's workflow."""
    return tuple(sorted(KINDS, key=lambda kind: (kind.sort_order, kind.key)))


def names() -> tuple[str, ...]:
    """Return the names of all kinds, in order."""
    return tuple(kind.key for kind in all_kinds())


def all_tasks() -> tuple[str, ...]:
    """Return the possible tasks of campaigns, in the order of their kinds."""
    return tuple(dict.fromkeys(kind.tasks for kind in all_kinds()))


def kinds_of_tasks(tasks: str) -> tuple[str, ...]:
    """Return the kinds of question in a campaign of these tasks; none if the tasks do not exist."""
    return tuple(kind.key for kind in all_kinds() if kind.tasks == tasks)


def only_kind(tasks: str) -> Kind | None:
    """Return the only kind of question in a campaign of these tasks; None if it has several, or none."""
    kind = kinds_of_tasks(tasks)
    return kind_of(kind[0]) if len(kind) == 1 else None


def is_counted(key: str) -> bool:
    """Whether the kind exists and is counted."""
    return key in KINDS and kind_of(key).counted


def draws(key: str) -> bool:
    """Whether the kind exists and its answers have boxes."""
    return key in KINDS and kind_of(key).draws


def answer_time_of(key: str) -> AnswerTimeEstimate:
    """Return the estimated time for an answer of a kind: the kind's own, else a default, from half of it to
    twice as much."""
    kind = kind_of(key)
    if kind.answer_time is not None:
        return kind.answer_time
    seconds = kind.batch.seconds if kind.batch is not None else _UNKNOWN_SECONDS
    low, high = seconds / _UNSURE, seconds * _UNSURE
    return AnswerTimeEstimate(seconds, low, high, _("assumed; nobody has measured it"))


def model_kinds(among: Iterable[str]) -> tuple[str, ...]:
    """Return those of the kinds `among` that a model annotator answers."""
    return tuple(key for key in among if key in KINDS and kind_of(key).model_answers)


def is_page(key: str) -> bool:
    """Whether the kind exists and a task of it is a page of several images."""
    return key in KINDS and kind_of(key).about == ABOUT_PAGE


def judged_by(key: str) -> str:
    """Return the kind whose answers are verdicts on the answers of `key`; "" if there is none."""
    return next((kind.key for kind in all_kinds() if kind.judges == key), "")


def judging_kinds() -> tuple[tuple[str, str], ...]:
    """Return (the kind that gives verdicts, the kind that they are about), for every kind that gives any."""
    return tuple((kind.key, kind.judges) for kind in all_kinds() if kind.judges)


def settings_numbers() -> dict[str, Number]:
    """Return the whole numbers that campaigns set, by name, in the order of the kinds."""
    return {name: number for kind in all_kinds() for name, number in kind.numbers.items()}


def kind_order(key: str) -> tuple[int, str]:
    """Return the sort key of a kind; unknown kinds come last."""
    return (kind_of(key).sort_order, key) if key in KINDS else (10**6, key)
