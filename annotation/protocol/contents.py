"""Questions, mentions and rulings as plain data (lists, numbers, words), and back.

The queue stores them in this form, and pages and the API receive it. A box is [xmin, ymin, xmax, ymax] in
pixels, 1-based and inclusive; a mention is represented by its id.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.protocol.questions import Question
from annotation.protocol.rulings import (
    Boxes,
    Closure,
    KeepApart,
    Partition,
    Phrases,
    Resume,
    Ruling,
    UnrelatedCaption,
)
from annotation.protocol.terms import Box, Mention
from phrasebox.errors import PhraseboxError


class InvalidContent(PhraseboxError):
    """Plain data that is no question, mention or ruling; the message names the error."""


def corners(box: Box) -> list[int]:
    """Return a box as plain data: left, top, right, bottom, 1-based and inclusive."""
    return [box.xmin, box.ymin, box.xmax, box.ymax]


def question_content(question: Question) -> dict[str, Any]:
    """Return a question's data for workers: {"mentions": [id, ...], "boxes": [box, ...], "pending": box or
    None}."""
    return {
        "mentions": list(question.mentions),
        "boxes": [corners(box) for box in question.boxes],
        "pending": corners(question.pending) if question.pending else None,
    }


def question_from(
    kind: str,
    key: str,
    content: Mapping[str, Any],
    *,
    votes_needed: int = 1,
    barred: frozenset[str] = frozenset(),
) -> Question:
    """Return the question from `question_content`, which does not contain `votes_needed` and `barred`."""
    try:
        return Question(
            kind,
            key,
            votes_needed,
            barred,
            tuple(content["mentions"]),
            tuple(Box(*box) for box in content["boxes"]),
            Box(*content["pending"]) if content["pending"] else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidContent(f"this is not valid content of {kind}: {error}") from error


def mention_json(mention: Mention) -> list[Any]:
    """Return [caption, start, end, [token, ...], [category, ...]], and the noun if a reviewer said which."""
    fields = [mention.caption, mention.start, mention.end, list(mention.tokens), list(mention.categories)]
    return [*fields, mention.noun] if mention.noun else fields


def mention_from(fields: Sequence[Any]) -> Mention:
    """Return the mention from `mention_json`."""
    caption, start, end, tokens, categories, *noun = fields
    return Mention(caption, start, end, tuple(tokens), tuple(categories), *noun)


def ruling_json(ruling: Ruling) -> dict[str, Any]:
    """Return a ruling as {"kind": ..., its fields}."""
    match ruling:
        case Partition(groups):
            return {"kind": "partition", "groups": [list(group) for group in groups]}
        case KeepApart(a, b):
            return {"kind": "keep_apart", "a": a, "b": b}
        case Boxes(mentions, boxes):
            return {"kind": "boxes", "mentions": list(mentions), "boxes": [corners(b) for b in boxes]}
        case Closure(mentions, kind):
            return {"kind": "closure", "mentions": list(mentions), "as": kind}
        case Resume(mentions):
            return {"kind": "resume", "mentions": list(mentions)}
        case Phrases(removed, added):
            return {"kind": "phrases", "removed": list(removed), "added": [*map(mention_json, added)]}
        case UnrelatedCaption(caption):
            return {"kind": "unrelated", "caption": caption}


def ruling_from(fields: Mapping[str, Any]) -> Ruling:
    """Return the ruling from `ruling_json`. Raises InvalidContent naming the error."""
    try:
        match fields["kind"]:
            case "partition":
                return Partition(tuple(tuple(map(str, group)) for group in fields["groups"]))
            case "keep_apart":
                return KeepApart(str(fields["a"]), str(fields["b"]))
            case "boxes":
                return Boxes(tuple(map(str, fields["mentions"])), tuple(Box(*box) for box in fields["boxes"]))
            case "closure":
                return Closure(tuple(map(str, fields["mentions"])), str(fields["as"]))
            case "resume":
                return Resume(tuple(map(str, fields["mentions"])))
            case "phrases":
                return Phrases(tuple(map(str, fields["removed"])), tuple(map(mention_from, fields["added"])))
            case "unrelated":
                return UnrelatedCaption(int(fields["caption"]))
            case unknown:
                raise InvalidContent(
                    f"unknown ruling {unknown!r}; known: boxes, closure, keep_apart, partition, phrases, "
                    "resume, unrelated"
                )
    except KeyError as error:
        raise InvalidContent(f"a ruling lacks {error}") from error
    except (TypeError, ValueError) as error:
        raise (
            error if isinstance(error, InvalidContent) else InvalidContent(f"a ruling is not valid: {error}")
        ) from error
