"""Calls, and how they are spoilt, before they become bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

BOUNDARY = "a-line-between-parts"
FORM, JSON, MULTIPART = "application/x-www-form-urlencoded", "application/json", "multipart/form-data"

#: Hostile texts for fields.
TEXTS = (
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "\ud800",
        "x\udfff",
        "\ufeff",
        "\u202e\u2066",
        "e\u0301" * 20,
        "ﬀＡＤＭＩＮ",
        "ß" * 50,
    ),
    *(
        "٣",
        "²",
        "1_0",
        "+1",
        "-1",
        "0",
        "1e400",
        "1e-400",
        "NaN",
        "Infinity",
        "0x10",
        "1.5",
        "9" * 19,
        "9" * 5000,
    ),
    *(str(2**31), str(2**63), str(2**63 - 1), str(-(2**63)), "1" + "0" * 308),
    *(
        "<script>alert(1)</script>",
        "{{ 7*7 }}",
        "{% now %}",
        "%s%n%(x)s",
        "{0.__class__}",
        "' OR 1=1 --",
        "=1+1",
    ),
    *(
        "../../../../etc/passwd",
        "..\\..",
        "/",
        "//evil.example",
        "http://evil.example/",
        "javascript:alert(1)",
    ),
    *("a" * 300, "ü" * 5000, "word " * 3000, "\n" * 50, "a\r\nSet-Cookie: x=1", "true", "null", "[]", "{}"),
    *(
        "[" * 5000,
        "a = " + "[" * 2000,
        "x = " + "9" * 5000,
        "link_votes = " + "9" * 400,
        "link_votes = 2026-01-01",
        "[pay]\nbasis = 'hour'\nhourly = inf",
        "[pay]\nbasis = 'item'\nper_item = {coref_link = 1e300}",
        "[stop]\nbudget = nan\nuntil = '\\u0000'",
        "[stop]\nimages = 9223372036854775808",
        "[lease]\nminutes = 1e308",
        "1,2,3,4\n" * 200,
        "0001-01-01",
        "9999-12-31",
    ),
    *(
        "2026-02-30",
        "10000-01-01",
        "1970-01-01T00:00:00Z",
        "1/5",
        "0/0",
        "99999999999/1",
        "own:99999999999999999999",
    ),
)
#: Hostile values for JSON.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0.5, 1e308, 1e-320),
    *(
        [],
        {},
        [[]],
        [None],
        {"a": {}},
        [1, 2, 3, 4],
        [2**63] * 4,
        [10**400],
        [1.5] * 4,
        ["x"] * 101,
        {"": ""},
    ),
    *(["\ud800"], {"\ud800": 1}, {"text": "\udc00"}, {"\0": "\0"}, [[True]] * 200, [{"box": [1, 2, 3, 4]}]),
)
#: Invalid bodies.
BODIES = (
    *(
        b"",
        b"\0",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 20_000,
        b"null",
        b'"x"',
        b"1e999",
        b"-",
        b"NaN",
    ),
    *(
        b'{"token": "\\ud800"}',
        b'{"token": "\xed\xa0\x80"}',
        b'{"seconds": ' + b"9" * 400 + b"}",
        b"\xef\xbb\xbf{}",
    ),
    *('{"a": 1}'.encode("utf-16"), b"a=1&b=%ff%fe&c=%00", b"&" * 2000, b"=" * 100, b"a=" + b"%" * 5000),
    *(
        b"x" * 3_000_000,
        b'{"a": ' + b"1" * 5000 + b"}",
        b'{"a":1,"a":2}',
        b"--" + BOUNDARY.encode() + b"--\r\n",
    ),
)
KINDS = (
    *(
        "",
        FORM,
        JSON,
        MULTIPART,
        f"{MULTIPART}; boundary={BOUNDARY}",
        f"{MULTIPART}; boundary=" + "b" * 300,
        "text/xml",
    ),
    *(f"{FORM}; charset={name}" for name in ("utf-16", "hex", "rot13", "idna", "nothing", "utf-7", "\xff")),
    *(f"{JSON}; charset={name}" for name in ("hex", "utf-16", "undefined")),
    *("multipart/mixed; boundary=x", "application/", ";;;", "a" * 2000),
)
HEADERS: tuple[tuple[str, str], ...] = (
    *(
        ("Accept-Language", text)
        for text in ("de;q=x", "*", "a" * 6000, "de," * 500, "\0", "zz-ZZ-ZZ", "en;q=1e400")
    ),
    *(("Host", text) for text in ("evil.example", "", "127.0.0.1:99999", "[::1", "a b", "localhost:x")),
    *(("X-Forwarded-For", text) for text in ("x", "1" * 5000, "::1%eth0", ",,,", "\xff")),
    *(
        ("Authorization", text)
        for text in ("Token ", "Token \xff", "Token " + "a" * 200, "Basic x", "Token a b", "Token \0")
    ),
    *(
        ("Cookie", text)
        for text in ("session=x; csrf=y", "session=" + "x" * 5000, "=;=;", "session=\xff", 'csrf="\\777"')
    ),
    *(
        ("Cookie", text)
        for text in ("language=\0", "language=xx; messages=[]", "messages=WyJ4Il0:x:y", "session=\0")
    ),
    *(("Referer", text) for text in ("x", "http://[", "https://evil.example/", "\xff")),
    *(("Origin", text) for text in ("null", "http://[", "https://evil.example")),
    *(("X-CSRFToken", text) for text in ("", "x", "\xff", "a" * 64)),
    *(
        ("If-Modified-Since", text)
        for text in ("x", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 99 Foo 99999 00:00:00 GMT")
    ),
    *(("Range", text) for text in ("bytes=0-1", "bytes=9999999999999999999-", "x")),
    *(
        ("X-Forwarded-Proto", "https"),
        ("Content-Encoding", "gzip"),
        ("Expect", "100-continue"),
        ("X-Request-ID", "\xff"),
    ),
    *(("X-HTTP-Method-Override", "DELETE"), ("Transfer-Encoding", "chunked"), ("X-Timestamp", "9" * 10)),
)
METHODS = ("GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get")
#: Hostile path arguments instead of a name or a number.
PLACES = (
    "",
    ".",
    "..",
    "%00",
    "%ff",
    "%2e%2e%2f",
    "%ED%A0%80",
    "0",
    "-1",
    str(2**63),
    "9" * 40,
    "a" * 300,
    "٣",
    "x:y:z",
)


@dataclass
class Call:
    """One call. Its body is the first that is set of `json`, `fields` with `files`, and `body`."""

    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    fields: list[tuple[str, str]] = field(default_factory=list)
    json: Any = None
    files: list[tuple[str, str, bytes]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    kind: str | None = None

    def address(self) -> str:
        held = [(_bytes(name), _bytes(value)) for name, value in self.query]
        return self.path + (f"?{urlencode(held)}" if held else "")

    def content(self) -> tuple[bytes, str]:
        """Return the body, and its content type."""
        kind, body = FORM, b""
        if self.json is not None:
            kind, body = JSON, json.dumps(self.json).encode()
        elif self.files:
            kind, body = f"{MULTIPART}; boundary={BOUNDARY}", self._parts()
        elif self.fields:
            body = urlencode([(_bytes(name), _bytes(value)) for name, value in self.fields]).encode()
        return (body if self.body is None else self.body), (kind if self.kind is None else self.kind)

    def _parts(self) -> bytes:
        between = f"--{BOUNDARY}\r\n".encode()
        parts = [
            between
            + b'Content-Disposition: form-data; name="'
            + _bytes(name)
            + b'"\r\n\r\n'
            + _bytes(value)
            + b"\r\n"
            for name, value in self.fields
        ]
        for name, called, held in self.files:
            head = f'Content-Disposition: form-data; name="{name}"; '.encode() + _bytes(called)
            parts.append(
                between + head + b"\r\nContent-Type: application/octet-stream\r\n\r\n" + held + b"\r\n"
            )
        return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


class Slot(NamedTuple):
    """A replaceable part of a call: a field, a query parameter, a value of the JSON, a path argument; and its
    index among them."""

    of: str
    key: Any


def slots(call: Call) -> list[Slot]:
    """Return all replaceable parts of a call."""
    held = [Slot("query", index) for index in range(len(call.query))]
    held += [Slot("fields", index) for index in range(len(call.fields))]
    held += [Slot("json", name) for name in call.json] if isinstance(call.json, dict) else []
    return held + [Slot("path", index) for index in range(1, len(call.path.split("/")))]


def others(slot: Slot) -> Sequence[Any]:
    """Return hostile values for a part."""
    return {"json": (*VALUES, *TEXTS), "path": PLACES}.get(slot.of, TEXTS)


def put(call: Call, slot: Slot, value: Any) -> None:
    """Replace a part by `value`, if a call of this kind has it."""
    if slot.of == "json":
        call.json[slot.key] = value
        return
    if slot.of == "path":
        parts = call.path.split("/")
        parts[slot.key : slot.key + 1] = [value]
        call.path = "/".join(parts)
        return
    held = getattr(call, slot.of)
    if slot.key < len(held):
        held[slot.key] = (held[slot.key][0], value)


def spoilt(call: Call, rng: Random) -> Call:
    """Return `call` with one to three errors."""
    created = copy.deepcopy(call)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(_WAYS)(created, rng)
    return created


def _field(call: Call, rng: Random) -> None:
    """Replace, remove or repeat a field, a value of the JSON, or a query parameter."""
    if call.json is not None:
        call.json = _another_value(call.json, rng)
        return
    held = call.query if call.query and (not call.fields or rng.random() < 0.3) else call.fields
    if not held:
        call.query.append(
            (rng.choice(("kind", "next", "after", "n", "part", "before", "x")), rng.choice(TEXTS))
        )
        return
    index = rng.randrange(len(held))
    name, value = held[index]
    match rng.randrange(8):
        case 0:
            del held[index]
        case 1:
            held.append((name, rng.choice(TEXTS)))
        case 2:
            held[index] = (rng.choice(TEXTS), value)
        case 3:
            held[index] = (name, value + rng.choice(TEXTS))
        case _:
            held[index] = (name, rng.choice(TEXTS))


def _another_value(value: Any, rng: Random) -> Any:
    """Return `value` with a part replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(sorted(value))
        if rng.random() < 0.15:
            return {key: held for key, held in value.items() if key != name}
        return {**value, name: _another_value(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        index = rng.randrange(len(value))
        return [_another_value(held, rng) if number == index else held for number, held in enumerate(value)]
    return rng.choice(VALUES) if rng.random() < 0.6 else rng.choice(TEXTS)


def _file(call: Call, rng: Random) -> None:
    """Truncate, replace, rename or add a file."""
    if not call.files:
        call.files.append(
            (rng.choice(("file", "text", "name", "act")), 'filename="x.csv"', rng.choice(BODIES)[:5000])
        )
        return
    index = rng.randrange(len(call.files))
    name, called, held = call.files[index]
    match rng.randrange(3):
        case 0:
            called = rng.choice(
                (
                    *(
                        'filename=""',
                        'filename="../../x"',
                        'filename="."',
                        'filename="\0.npy"',
                        "filename=\xff",
                    ),
                    *(
                        "filename*=hex''%41.npy",
                        "filename*=x'y'z",
                        "filename*=",
                        'filename="' + 900 * "ü" + '.npz"',
                    ),
                    *(
                        'filename="x.safetensors"',
                        'filename="x.csv.gz"',
                        'filename="x.npz"',
                        'filename="x.trec"',
                    ),
                )
            )
        case 1:
            held = held[: rng.randrange(len(held) + 1)]
        case _:
            held = rng.choice(BODIES)[:200_000]
    call.files[index] = (name, called, held)


def _body(call: Call, rng: Random) -> None:
    body, kind = call.content()
    call.kind = kind
    if body and rng.random() < 0.5:
        cut = rng.randrange(len(body))
        call.body = (
            body[:cut] + rng.choice((b"", b"\0", b"\xff", b'"', b"%")) + body[cut + rng.randrange(3) :]
        )
    else:
        call.body = rng.choice(BODIES)


def _kind(call: Call, rng: Random) -> None:
    call.kind = rng.choice(KINDS)


def _header(call: Call, rng: Random) -> None:
    name, value = rng.choice(HEADERS)
    call.headers[name] = value


def _method(call: Call, rng: Random) -> None:
    call.method = rng.choice(METHODS)


def _spoil_address(call: Call, rng: Random) -> None:
    """Replace one path argument."""
    parts = call.path.split("/")
    parts[rng.randrange(1, len(parts))] = rng.choice((*PLACES, quote(_bytes(rng.choice(TEXTS))[:400])))
    call.path = "/".join(parts)


def _multipart(call: Call, rng: Random) -> None:
    """Send JSON or a plain form as multipart."""
    if call.json is not None:
        call.fields = (
            [(str(name), str(value)) for name, value in call.json.items()]
            if isinstance(call.json, dict)
            else []
        )
        call.json = None
    call.files.append(("file", 'filename="x"', b"x"))


_WAYS: tuple[Callable[[Call, Random], None], ...] = (
    *(_field,) * 12,
    *(_spoil_address,) * 3,
    *(_header,) * 2,
    *(_body, _kind, _method, _file, _multipart),
)


def _bytes(text: str) -> bytes:
    """Encode a text, including lone surrogates, which attackers send."""
    return text.encode("utf-8", "surrogatepass")
