"""JSON that others send: text, numbers and depth such as every part of ours can store and hand on."""

import json
import re
from typing import Any

from django.utils.translation import gettext as _

#: The largest whole number that a row holds.
_LARGEST = 2**63 - 1
#: Brackets within brackets, at most; nothing that we ask for needs a third of them.
DEEPEST = 30
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class BadJson(ValueError):
    """Bytes that are no JSON, or hold what nothing here can store; one line that says which."""


def read_json(body: bytes) -> Any:
    """What `body` says. Raises BadJson.

    RFC 8259: UTF-8 alone. Python's own reader takes halves of characters (lone surrogates), NaN, numbers
    of any size, and depth to the end of its stack.
    """
    try:
        text = body.decode()
        value = json.loads(text, parse_constant=_no_number, parse_int=_whole)
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadJson(_("A text contains half a character (a lone surrogate).")) from None
    except BadJson:
        raise
    except (ValueError, RecursionError):
        raise BadJson(_("This is not JSON.")) from None
    if _depth(text) > DEEPEST:
        raise BadJson(_("This is nested too deeply."))
    return value


def _whole(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > _LARGEST:
        raise BadJson(_("A number is too large: at most %(most)d is allowed.") % {"most": _LARGEST})
    return int(digits)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON's")


def _depth(text: str) -> int:
    """How deep brackets lie at most, those within texts apart; 0 where there are few."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    deep = deepest = 0
    for sign in re.findall(r"[\[{}\]]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        deep += 1 if sign in "[{" else -1
        deepest = max(deepest, deep)
    return deepest
