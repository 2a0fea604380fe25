"""What a model at an address is asked, and how its answers are read: boxes for the phrases of a picture.

Two protocols. *Predictions* is what the machine-learning backends of Label Studio answer (POST `/predict`): a
task with the address of a picture, a labelling configuration, and the phrase as the text of a prompt; the
answer has rectangles in percent of the picture. *Chat* is the chat-completions protocol with pictures: a
prompt with numbered phrases and the picture's bytes; the answer is a text that contains JSON.

Pure: no network, no clock. Money is in millionths of a currency's unit.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import quoteattr

from annotation.protocol.model_annotators import ProposedBox, best_first
from annotation.protocol.terms import Box, Mention
from annotation.protocol.work import MICROS
from phrasebox.errors import PhraseboxError

PREDICTION_PROTOCOL, CHAT_PROTOCOL = "predictions", "chat"
#: How an answer in words gives coordinates: in pixels, as shares of the sides, or in thousandths of them.
PIXELS, SIDE_SHARES, THOUSANDTHS = "pixels", "shares", "thousandths"
#: What a prompt may contain: replaced by the numbered phrases, the captions, and the size of the picture.
PROMPT_PHRASES, _CAPTIONS, _WIDTH, _HEIGHT, _UNIT = "{phrases}", "{captions}", "{width}", "{height}", "{unit}"
DEFAULT_PROMPT = (
    f"The picture is {_WIDTH} x {_HEIGHT} pixels. For each numbered phrase, give the boxes of what it names "
    "in the picture, one box for each thing. Answer with JSON alone: "
    '{"boxes": [{"phrase": 1, "box": [left, top, right, bottom], "score": 0.9}]}. Coordinates are in '
    f"{_UNIT}, from the upper left corner; the score is how sure you are, 0 to 1. Leave out what cannot be "
    f"seen.\n{PROMPT_PHRASES}"
)
_UNITS = {
    PIXELS: "pixels",
    SIDE_SHARES: "shares of width and height",
    THOUSANDTHS: "thousandths of each side",
}
#: Rectangles of Label Studio, and the sides of its picture in percent.
_RECTANGLES, _PERCENT = "rectanglelabels", 100.0
#: Boxes of an answer that are left out, and why.
NO_SUCH_PHRASE, NOT_A_BOX, OUTSIDE_PICTURE, OTHER_PICTURE = "phrase", "box", "outside", "other_picture"
#: Tokens of a request beside its text and its picture, at most.
_FRAME_TOKENS = 100
#: Boxes of an answer, at most.
_MOST_BOXES = 10_000


class UnreadableAnswer(PhraseboxError):
    """An answer that cannot be read; one line with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How a model at an address is asked, and what it costs.

    `at_once`: all phrases of a picture by one call; otherwise each by its own. `unsure` is the chance of a
    box without a score. `call_price` is of a call, `input_price` and `output_price` of a million tokens, in
    units of a currency; an answer has at most `most_output` tokens, a picture at most `picture_tokens`.
    """

    protocol: str = PREDICTION_PROTOCOL
    model: str = ""
    model_version: str = ""
    prompt: str = DEFAULT_PROMPT
    temperature: float = 0.0
    coordinates: str = PIXELS
    at_once: bool = True
    unsure: float = 0.5
    call_price: float = 0.0
    input_price: float = 0.0
    output_price: float = 0.0
    most_output: int = 2_000
    picture_tokens: int = 5_000


@dataclass(frozen=True, slots=True)
class AskedPicture:
    """A picture that a model is asked about: its image's id, its size in pixels, its captions, and what is
    sent of it: an address, or a data URL."""

    image: str
    width: int
    height: int
    captions: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class CallBody:
    """A call: the body of the request (JSON), and the phrases that it asks about, in order."""

    body: Mapping[str, Any]
    phrases: tuple[str, ...]

    @property
    def encoded(self) -> bytes:
        """The body as it is sent."""
        return json.dumps(self.body, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The boxes of an answer by phrase, and how many were left out, by reason."""

    boxes: Mapping[str, Sequence[ProposedBox]]
    left: Mapping[str, int] = field(default_factory=dict)


def different_phrases(mentions: Collection[Mention]) -> dict[str, tuple[str, ...]]:
    """Return each different phrase, without regard to case, with the ids of its mentions."""
    phrases: dict[str, list[str]] = {}
    for mention in mentions:
        phrases.setdefault(mention.text.casefold(), []).append(mention.id)
    return {phrase: tuple(ids) for phrase, ids in phrases.items()}


def calls_of(settings: ModelSettings, picture: AskedPicture, phrases: Sequence[str]) -> Iterator[CallBody]:
    """Yield the calls that ask about these phrases of a picture."""
    parts = [tuple(phrases)] if settings.at_once else [(phrase,) for phrase in phrases]
    body_of = _chat_body if settings.protocol == CHAT_PROTOCOL else _predictions_body
    for part in parts:
        if part:
            yield CallBody(body_of(settings, picture, part), part)


def most_cost(settings: ModelSettings, call: CallBody) -> int:
    """Return the most that a call may cost: a token of the text is at least a byte."""
    if settings.protocol != CHAT_PROTOCOL:
        return math.ceil(settings.call_price * MICROS)
    text = sum(len(message.encode()) for message in _texts(call.body))
    return _cost(settings, text + settings.picture_tokens + _FRAME_TOKENS, settings.most_output)


def stated_cost(settings: ModelSettings, body: bytes) -> int | None:
    """Return what an answered call cost by what the answer says of its use; None if it says nothing."""
    if settings.protocol != CHAT_PROTOCOL:
        return math.ceil(settings.call_price * MICROS)
    try:
        usage = json.loads(body)["usage"]
        tokens = [usage["prompt_tokens"], usage["completion_tokens"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if any(type(number) is not int or not 0 <= number <= 10**9 for number in tokens):
        return None
    return _cost(settings, *tokens)


def _cost(settings: ModelSettings, input_tokens: int, output_tokens: int) -> int:
    # A price is of a million tokens, and a unit of money is a million of its millionths.
    tokens = settings.input_price * input_tokens + settings.output_price * output_tokens
    return math.ceil(settings.call_price * MICROS + tokens)


def boxes_in_answer(
    settings: ModelSettings, body: bytes, picture: AskedPicture, phrases: Sequence[str]
) -> ReadAnswer:
    """Return the boxes of an answer to a call about these phrases, clipped to the picture. Raises
    UnreadableAnswer."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise UnreadableAnswer("the answer is not JSON") from None
    chat = settings.protocol == CHAT_PROTOCOL
    rows = _chat_rows(content) if chat else _prediction_rows(content, picture)
    coordinates = settings.coordinates if chat else PIXELS
    left: Counter[str] = Counter()
    boxes: dict[str, list[ProposedBox]] = {}
    for number, row in enumerate(rows):
        if number == _MOST_BOXES:
            raise UnreadableAnswer(f"the answer has more than {_MOST_BOXES} boxes")
        if isinstance(row, str):
            left[row] += 1
            continue
        phrase = _phrase(row.phrase, phrases)
        box = _box(row.corners, coordinates, picture)
        if phrase is None:
            left[NO_SUCH_PHRASE] += 1
        elif isinstance(box, str):
            left[box] += 1
        else:
            boxes.setdefault(phrase, []).append(ProposedBox(box, _chance(row.score, settings.unsure)))
    return ReadAnswer({phrase: best_first(some) for phrase, some in boxes.items()}, dict(left))


@dataclass(frozen=True, slots=True)
class _Row:
    """A box of an answer: the phrase as it names it, its corners (left, top, right, bottom), and a score."""

    phrase: Any
    corners: Any
    score: Any


def _predictions_body(
    settings: ModelSettings, picture: AskedPicture, phrases: Sequence[str]
) -> dict[str, Any]:
    labels = "".join(f"<Label value={quoteattr(phrase)}/>" for phrase in phrases)
    prompt = {
        "id": "prompt",
        "type": "textarea",
        "from_name": "prompt",
        "to_name": "image",
        "value": {"text": [" . ".join(phrases)]},
    }
    return {
        "tasks": [{"id": 1, "data": {"image": picture.source, "captions": list(picture.captions)}}],
        "model_version": settings.model_version or None,
        "project": "1.0",
        "label_config": (
            '<View><Image name="image" value="$image"/><TextArea name="prompt" toName="image"/>'
            f'<RectangleLabels name="label" toName="image">{labels}</RectangleLabels></View>'
        ),
        "params": {"context": {"result": [prompt]}},
    }


def _prediction_rows(content: Any, picture: AskedPicture) -> Iterator[_Row | str]:
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, list) or len(results) > 1:
        raise UnreadableAnswer("the answer has no results of one task")
    for prediction in results:
        rows = prediction.get("result") if isinstance(prediction, dict) else None
        if not isinstance(rows, list):
            raise UnreadableAnswer("the prediction has no list of results")
        for row in rows:
            value = row.get("value") if isinstance(row, dict) else None
            if not isinstance(value, dict) or row.get("type") != _RECTANGLES:
                yield NOT_A_BOX
                continue
            sizes = [row.get("original_width"), row.get("original_height")]
            if any(
                size not in (None, side)
                for size, side in zip(sizes, (picture.width, picture.height), strict=True)
            ):
                yield OTHER_PICTURE
                continue
            if value.get("rotation") not in (None, 0):
                yield NOT_A_BOX
                continue
            labels = value.get(_RECTANGLES)
            label = labels[0] if isinstance(labels, list) and labels else None
            yield _Row(label, _corners(value, picture), row.get("score", prediction.get("score")))


def _corners(value: Mapping[str, Any], picture: AskedPicture) -> list[float] | None:
    """Return the corners in pixels of a rectangle in percent."""
    numbers = [value.get(name) for name in ("x", "y", "width", "height")]
    if not _finite(numbers):
        return None
    x, y, width, height = (float(number) / _PERCENT for number in numbers)  # type: ignore[arg-type]
    across, down = picture.width, picture.height
    return [x * across, y * down, (x + width) * across, (y + height) * down]


def _chat_body(settings: ModelSettings, picture: AskedPicture, phrases: Sequence[str]) -> dict[str, Any]:
    numbered = "\n".join(f"{number}. {phrase}" for number, phrase in enumerate(phrases, 1))
    text = settings.prompt
    for name, value in (
        (_WIDTH, str(picture.width)),
        (_HEIGHT, str(picture.height)),
        (_UNIT, _UNITS[settings.coordinates]),
        (_CAPTIONS, "\n".join(picture.captions)),
        (PROMPT_PHRASES, numbered),
    ):
        text = text.replace(name, value)
    shown = {"type": "image_url", "image_url": {"url": picture.source}}
    return {
        "model": settings.model,
        "temperature": settings.temperature,
        "max_tokens": settings.most_output,
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}, shown]}],
    }


def _texts(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        yield from (part["text"] for part in message["content"] if part["type"] == "text")


def _chat_rows(content: Any) -> Iterator[_Row | str]:
    try:
        choice = content["choices"][0]
        text = choice["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise UnreadableAnswer("the answer has no message") from None
    if isinstance(text, list):
        text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
    if not isinstance(text, str):
        raise UnreadableAnswer("the message has no text")
    if isinstance(choice, dict) and choice.get("finish_reason") == "length":
        raise UnreadableAnswer("the answer was cut off at its longest length")
    return _rows_of(_json_within(text))


def _json_within(text: str) -> Any:
    """Return the first JSON object or list within a text."""
    decoder = json.JSONDecoder()
    starts = [at for at, letter in enumerate(text) if letter in "{["][:100]
    for start in starts:
        try:
            return decoder.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
    raise UnreadableAnswer("the message contains no JSON")


def _rows_of(content: Any) -> Iterator[_Row | str]:
    rows = content
    if isinstance(content, dict):
        rows = next((value for value in content.values() if isinstance(value, list)), None)
    if not isinstance(rows, list):
        raise UnreadableAnswer("the message has no list of boxes")
    for row in rows:
        if not isinstance(row, dict):
            yield NOT_A_BOX
            continue
        corners = next((row[name] for name in ("box", "bbox", "bbox_2d") if name in row), None)
        yield _Row(row.get("phrase", row.get("label")), corners, row.get("score"))


def _phrase(named: Any, phrases: Sequence[str]) -> str | None:
    """Return the phrase that an answer names, by its number from 1 or its words; the answer to a call about
    one phrase need not name it."""
    if type(named) is int and 1 <= named <= len(phrases):
        return phrases[named - 1]
    if isinstance(named, str) and named.strip().casefold() in phrases:
        return named.strip().casefold()
    return phrases[0] if len(phrases) == 1 and type(named) is not int else None


def _finite(numbers: Any) -> bool:
    return all(type(number) in (int, float) and math.isfinite(number) for number in numbers)


def _box(corners: Any, coordinates: str, picture: AskedPicture) -> Box | str:
    """Return the box of corners in these coordinates, or why there is none."""
    if not isinstance(corners, list) or len(corners) != 4 or not _finite(corners):
        return NOT_A_BOX
    width, height, parts = (
        picture.width,
        picture.height,
        {SIDE_SHARES: 1, THOUSANDTHS: 1_000}.get(coordinates),
    )
    across, down = (width / parts, height / parts) if parts else (1.0, 1.0)
    left, top, right, low = corners[0] * across, corners[1] * down, corners[2] * across, corners[3] * down
    if not (left < right and top < low):
        return NOT_A_BOX
    if right <= 0 or low <= 0 or left >= width or top >= height:
        return OUTSIDE_PICTURE
    xmin, ymin = max(0, math.floor(left)) + 1, max(0, math.floor(top)) + 1
    return Box(xmin, ymin, max(xmin, min(width, math.ceil(right))), max(ymin, min(height, math.ceil(low))))


def _chance(score: Any, unsure: float) -> float:
    return float(score) if _finite([score]) and 0 <= score <= 1 else unsure
