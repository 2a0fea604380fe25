"""The calls of workers as the OpenAPI document tells them: said by hand, for they are no views of DRF.

`docs/annotators.md` explains them. A test holds this to the addresses, and the answers to these shapes.
"""

from __future__ import annotations

from typing import Any

from annotation.protocol.kinds import names

_TEXT: dict[str, Any] = {"type": "string"}
_WHOLE: dict[str, Any] = {"type": "integer"}
_NUMBER: dict[str, Any] = {"type": "number"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_NAME: dict[str, Any] = {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$", "maxLength": 100}
_BOX: dict[str, Any] = {"type": "array", "items": _WHOLE, "minItems": 4, "maxItems": 4}
_TIME: dict[str, Any] = {"type": ["string", "null"], "format": "date-time"}


def _object(required: str = "", **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": fields}
    return {**found, "required": required.split()} if required else found


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _of(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _any_of(*names: str) -> dict[str, Any]:
    return {"anyOf": [_of(name) if name else {"type": "null"} for name in names]}


_HOLDING = {
    **_list(_WHOLE),
    "maxItems": 100,
    "description": "Ids that the caller has and does not want again.",
}
SHAPES_OF_WORKERS: dict[str, Any] = {
    "WorkerTask": {
        **_object(
            "id kind expires_at test image captions mentions boxes pending",
            id=_WHOLE,
            kind=_TEXT,
            expires_at=_TIME,
            test=_FLAG,
            image=_object(
                "name width height picture",
                name=_TEXT,
                width=_WHOLE,
                height=_WHOLE,
                picture={"type": ["string", "null"]},
            ),
            captions=_list(_object("number text tokens", number=_WHOLE, text=_TEXT, tokens=_list(_TEXT))),
            mentions=_list(
                _object("id caption start end", id=_TEXT, caption=_WHOLE, start=_WHOLE, end=_WHOLE)
            ),
            boxes=_list(_BOX),
            pending={"anyOf": [_BOX, {"type": "null"}]},
        ),
        "description": "A task: what its page shows, and no more.",
    },
    "WorkerNothing": {
        **_object("nothing text again_at", nothing=_TEXT, text=_TEXT, again_at=_TIME),
        "description": "Why there is no task: a code, a sentence, and when to ask again.",
    },
    "WorkerToday": _object("answers seconds pay", answers=_WHOLE, seconds=_NUMBER, pay=_NUMBER),
    "WorkerOffer": _object(
        "campaign kind title standing items test in_hand pay today nothing text again_at",
        campaign=_TEXT,
        kind=_TEXT,
        title=_TEXT,
        standing=_TEXT,
        items=_WHOLE,
        test={"anyOf": [_object("asked answered", asked=_WHOLE, answered=_WHOLE), {"type": "null"}]},
        in_hand={},
        pay=_object(
            "basis currency per_item hourly", basis=_TEXT, currency=_TEXT, per_item=_NUMBER, hourly=_NUMBER
        ),
        today=_of("WorkerToday"),
        nothing={"type": ["string", "null"]},
        text=_TEXT,
        again_at=_TIME,
    ),
}
_PROBLEMS = {
    400: "Not JSON such as the API takes, or a field of the wrong type.",
    401: "No session, no token, or one that is not valid.",
    403: "Not an annotator; or a session's write without its CSRF token.",
    404: "No such campaign, or no such kind in it.",
    409: "Answered before under another token; an answer that stands; or a text that is not the newest.",
    410: "No such task in this worker's hands.",
    422: "The question does not take this answer; nothing was stored.",
    429: "Asked for too often: wait as long as `Retry-After` says.",
    503: "Send the same again after `Retry-After` seconds.",
}


def _call(
    name: str,
    title: str,
    answer: dict[str, Any],
    *problems: int,
    body: dict[str, Any] | None = None,
    place: str = "",
    example: Any = None,
) -> dict[str, Any]:
    """One operation as the document has it."""
    found: dict[str, Any] = {
        "operationId": name,
        "summary": title,
        "tags": ["work"],
        "security": [{"worker_token": []}, {"session": []}],
        "responses": {
            "200": {"description": "", "content": {"application/json": {"schema": answer}}},
            **{
                str(code): {
                    "description": _PROBLEMS[code],
                    "content": {"application/problem+json": {"schema": _of("Problem")}},
                }
                for code in sorted({401, 403, 503, *problems})
            },
        },
    }
    if place:
        schema = _NAME if place == "name" else {**_WHOLE, "minimum": 0}
        found["parameters"] = [{"in": "path", "name": place, "required": True, "schema": schema}]
    if body is not None:
        content: dict[str, Any] = {"schema": body}
        if example is not None:
            content["example"] = example
        found["requestBody"] = {
            "content": {"application/json": content},
            "required": bool(body.get("required")),
        }
    return found


#: A kind of question, for examples.
_KIND = next(iter(names()))
_KIND_OF_CAMPAIGN = _object("campaign kind", campaign=_NAME, kind=_NAME)
#: What an answer is said by, or a report.
_ANSWER = {"answer": _TEXT, "box": _BOX, "way": _TEXT, "flag": _TEXT, "comment": _TEXT}
_OR_NONE: dict[str, Any] = {"type": ["string", "null"]}
_CONSENT = _object("version text needed", version=_WHOLE, text=_TEXT, needed=_FLAG)
CALLS_OF_WORKERS: dict[str, Any] = {
    "/api/tasks": {
        "get": _call(
            "worker_tasks", "List what there is to work on", _object("tasks", tasks=_list(_of("WorkerOffer")))
        )
    },
    "/api/tasks/next": {
        "post": _call(
            "worker_next",
            "Take a task of a campaign and kind",
            _any_of("WorkerTask", "WorkerNothing"),
            *(400, 404),
            body=_object("campaign kind", campaign=_NAME, kind=_NAME, holding=_HOLDING),
            example={"campaign": "quay", "kind": _KIND},
        )
    },
    "/api/tasks/test": {
        "post": _call(
            "worker_test",
            "Begin the qualification test of a kind, or go on with it",
            {"anyOf": [_object("asked answered", asked=_WHOLE, answered=_WHOLE), _of("WorkerNothing")]},
            *(400, 404),
            body=_KIND_OF_CAMPAIGN,
            example={"campaign": "quay", "kind": _KIND},
        )
    },
    "/api/tasks/answers": {
        "post": _call(
            "worker_recent_answers",
            "List your last answers of a kind, which you may change",
            _object(
                "answers",
                answers=_list(
                    _object("id answer flag at", id=_WHOLE, answer=_OR_NONE, flag=_OR_NONE, at=_TIME)
                ),
            ),
            *(400, 404),
            body=_KIND_OF_CAMPAIGN,
            example={"campaign": "quay", "kind": _KIND},
        )
    },
    "/api/campaigns/{name}/consent": {
        "get": _call(
            "worker_consent", "Show what workers of a campaign agree to", _CONSENT, 404, place="name"
        ),
        "post": _call(
            "worker_agree",
            "Agree to a version of the consent text",
            _CONSENT,
            *(400, 404, 409),
            body=_object("version", version=_WHOLE),
            place="name",
            example={"version": 1},
        ),
    },
    "/api/spelling": {
        "post": _call(
            "worker_spelling",
            "Look for misspelt words in a text",
            _object(
                "unknown", unknown=_list(_object("word suggestions", word=_TEXT, suggestions=_list(_TEXT)))
            ),
            *(400, 429),
            body=_object("text", text={**_TEXT, "minLength": 1, "maxLength": 400}, campaign=_NAME),
            example={"text": "Two dgos run."},
        )
    },
    "/api/assignments/{assignment}/answer": {
        "post": _call(
            "worker_answer",
            "Answer a task; the next one comes along",
            _object(
                "repeated today next",
                repeated=_FLAG,
                today=_any_of("WorkerToday", ""),
                next=_any_of("WorkerTask", "WorkerNothing", ""),
            ),
            *(400, 404, 409, 410, 422),
            body=_object(
                "token",
                **_ANSWER,
                token={
                    **_TEXT,
                    "minLength": 1,
                    "maxLength": 64,
                    "description": "Of your choice; the same stores once.",
                },
                seconds={"type": ["number", "null"], "minimum": 0},
                next=_FLAG,
                holding=_HOLDING,
            ),
            place="assignment",
            example={"answer": "yes", "token": "f3a1", "seconds": 4.2},
        )
    },
    "/api/assignments/{assignment}/change": {
        "post": _call(
            "worker_change",
            "Change one of your last answers, where nobody has built on it",
            _object("changed", changed=_FLAG),
            *(400, 404, 409, 410, 422),
            body=_object("", **_ANSWER),
            place="assignment",
            example={"answer": "no"},
        )
    },
    "/api/assignments/{assignment}/return": {
        "post": _call(
            "worker_return",
            "Return a task unanswered",
            _object("returned", returned=_FLAG),
            *(400, 410),
            place="assignment",
        )
    },
    "/api/assignments/{assignment}/heartbeat": {
        "post": _call(
            "worker_heartbeat",
            "Keep a task: its time starts again",
            _object("expires_at", expires_at=_TIME),
            *(400, 410),
            place="assignment",
        )
    },
}
