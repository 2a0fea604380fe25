"""Parse a reviewer's form: each of its buttons makes one ruling."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from annotation.moderation.rulings import CannotRule
from annotation.protocol.contents import InvalidContent, ruling_from
from annotation.protocol.rulings import Boxes, Closure, KeepApart, Partition, Resume, Ruling
from annotation.protocol.terms import Box

#: Prefix of the field with a mention's target, before the mention's name.
TO = "to:"
#: Choices for chains that a regrouping begins.
NEW = ("new1", "new2", "new3")


def ruling_in(data: Mapping[str, str]) -> tuple[Ruling, list[tuple[str, ...]]]:
    """Return the ruling of a form, and the chains that its sender saw. Raises CannotRule.

    `act` says which; `chain` is the chain's mention ids, separated by spaces.
    """
    try:
        return _ruling_in(data)
    except CannotRule:
        raise
    except ValueError as error:  # an invalid ruling: a mention in two groups
        raise CannotRule(str(error)) from error


def _ruling_in(data: Mapping[str, str]) -> tuple[Ruling, list[tuple[str, ...]]]:
    chain = tuple(data.get("chain", "").split())
    match data.get("act", ""):
        case "keep":
            return Partition((chain,)), [chain]
        case "regroup":
            return _regrouped(chain, data)
        case "boxes":
            return Boxes(chain, boxes_in(data.get("boxes", ""))), []
        case "close":
            if data.get("as", "") not in ("scene", "none", "excluded"):
                raise CannotRule(_("Say why there is no box: a scene, nothing to box, or not to be used."))
            return Closure(chain, data["as"]), []
        case "resume":
            return Resume(chain), []
        case "apart":
            return KeepApart(data.get("a", ""), data.get("b", "")), []
        case _:
            raise CannotRule(_("Nothing was chosen: use one of the buttons."))


def boxes_in(text: str) -> tuple[Box, ...]:
    """Return the boxes of a text, one per line as xmin, ymin, xmax, ymax. Raises CannotRule naming the
    line."""
    boxes = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            xmin, ymin, xmax, ymax = map(int, line.replace(",", " ").split())
            boxes.append(Box(xmin, ymin, xmax, ymax))
        except ValueError:
            raise CannotRule(
                _(
                    "Line %(number)d, “%(line)s”, is not a box: give four whole numbers, left, top, right "
                    "and bottom, in pixels from 1."
                )
                % {"number": number, "line": line.strip()[:60]}
            ) from None
    if not boxes:
        raise CannotRule(_("Give at least one box; if there is nothing to box, close the chain instead."))
    return tuple(boxes)


def _regrouped(chain: tuple[str, ...], data: Mapping[str, str]) -> tuple[Partition, list[tuple[str, ...]]]:
    """Return the new partition of the chain's mentions: what stays, what joins others, what begins new
    chains.

    Chains that get nothing are not part of the ruling.
    """
    moved: dict[tuple[str, ...], list[str]] = {}
    stays = []
    for mention in chain:
        target = data.get(TO + mention, "").strip()
        if target == "":
            stays.append(mention)
        elif target in NEW:
            moved.setdefault((target,), []).append(mention)
        else:
            moved.setdefault(tuple(target.split()), []).append(mention)
    joined = [target for target in moved if target[0] not in NEW]
    groups = [tuple(stays)] if stays else []
    groups += [(*(target if target in joined else ()), *mentions) for target, mentions in moved.items()]
    if not moved:
        raise CannotRule(_("No mention was moved: choose where each one belongs, or keep the chain."))
    try:
        ruling = ruling_from({"kind": "partition", "groups": groups})
    except InvalidContent as error:
        raise CannotRule(str(error)) from error
    assert isinstance(ruling, Partition)
    return ruling, [chain, *joined]
