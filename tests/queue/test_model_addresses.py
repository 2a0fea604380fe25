"""Models at addresses: what they are asked, how their answers are read, what they cost, and how they fail."""

from __future__ import annotations

import base64
import json
import math
import random
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from annotation.campaigns import CampaignError, model_annotators
from annotation.campaigns.training import asking_models
from annotation.common.operations import Invalid, OperationContext
from annotation.models import Judgment, ModelAnnotator, ModelCall, ModelProposals
from annotation.protocol.model_calls import (
    CHAT_PROTOCOL,
    NO_SUCH_PHRASE,
    NOT_A_BOX,
    OTHER_PICTURE,
    OUTSIDE_PICTURE,
    SIDE_SHARES,
    THOUSANDTHS,
    AskedPicture,
    ModelSettings,
    UnreadableAnswer,
    boxes_in_answer,
    calls_of,
    most_cost,
    stated_cost,
)
from annotation.protocol.terms import Box
from tests.factories import some_images
from tests.intake.conftest import a_picture
from tests.queue.model_server import (
    ModelServer,
    a_box_for_each,
    labels_of,
    ok,
    predicted,
    rectangle,
    said,
    serving,
    slowly,
)
from tests.queue.world import TRUSTING, World
from tests.web import world as people

PICTURE = AskedPicture("kite", 200, 100, ("A kite over a hat .",), "http://here/kite.jpg")
PHRASES = ("a kite", "a hat")
TALK = ModelSettings(protocol=CHAT_PROTOCOL, model="m", input_price=2.0, output_price=10.0, call_price=0.5)


def read(settings: ModelSettings, answer: Any, phrases: tuple[str, ...] = PHRASES) -> Any:
    result = boxes_in_answer(settings, answer[2], PICTURE, phrases)
    return {phrase: [tuple(box) for box in boxes] for phrase, boxes in result.boxes.items()}, dict(
        result.left
    )


def test_a_backend_gets_the_picture_the_labels_and_the_prompt() -> None:
    (request,) = calls_of(ModelSettings(), PICTURE, ('a "red" hat', "a kite"))
    body = json.loads(request.encoded)
    assert body["tasks"] == [{"id": 1, "data": {"image": PICTURE.source, "captions": [*PICTURE.captions]}}]
    assert '<Label value=\'a "red" hat\'/><Label value="a kite"/>' in body["label_config"]
    assert labels_of(body) == ['a "red" hat', "a kite"]
    singly = list(calls_of(ModelSettings(at_once=False), PICTURE, PHRASES))
    assert [request.phrases for request in singly] == [("a kite",), ("a hat",)]


def test_rectangles_in_percent_become_boxes_and_the_rest_is_counted() -> None:
    answer = predicted(
        rectangle("a kite", 0, 0, 50, 50, score=0.4),
        rectangle("A Hat", 50, 50, 50, 50, score=None),
        rectangle("a kite", 90, 90, 30, 30, score=3),
        rectangle("a dog", 0, 0, 10, 10),
        rectangle("a hat", 120, 0, 10, 10),
        rectangle("a hat", 10, 10, 0, 10),
        rectangle("a hat", 0, 0, 10, 10, original_width=640, original_height=480),
        {"type": "brushlabels", "value": {"rle": [1]}},
    )
    boxes, left = read(ModelSettings(), answer)
    # A score that is none: the chance of a box without one.
    assert boxes == {
        "a kite": [(Box(181, 91, 200, 100), 0.5), (Box(1, 1, 100, 50), 0.4)],
        "a hat": [(Box(101, 51, 200, 100), 0.7)],
    }
    assert left == {NO_SUCH_PHRASE: 1, OUTSIDE_PICTURE: 1, NOT_A_BOX: 2, OTHER_PICTURE: 1}


def test_an_answer_about_one_phrase_need_not_name_it() -> None:
    boxes, left = read(ModelSettings(), predicted(rectangle("_SAM", 0, 0, 100, 100)), ("a kite",))
    assert boxes == {"a kite": [(Box(1, 1, 200, 100), 0.9)]} and left == {}


@pytest.mark.parametrize(
    ("coordinates", "corners"),
    [("pixels", [20, 10, 100, 50]), (SIDE_SHARES, [0.1, 0.1, 0.5, 0.5]), (THOUSANDTHS, [100, 100, 500, 500])],
)
def test_a_chat_answers_in_words_around_its_json(coordinates: str, corners: list[float]) -> None:
    settings = ModelSettings(protocol=CHAT_PROTOCOL, coordinates=coordinates)
    rows = [
        {"phrase": 2, "box": corners, "score": 0.8},
        {"label": "A KITE ", "bbox_2d": corners},
        {"phrase": 3, "box": corners},
        {"phrase": 1, "box": [math.nan, 0, 1, 1]},
        "a hat",
    ]
    text = f"Here they are [as you asked]:\n```json\n{json.dumps({'boxes': rows})}\n```"
    boxes, left = read(settings, said(text))
    box = Box(21, 11, 100, 50)
    assert boxes == {"a hat": [(box, 0.8)], "a kite": [(box, 0.5)]}
    assert left == {NO_SUCH_PHRASE: 1, NOT_A_BOX: 2}


@pytest.mark.parametrize(
    ("settings", "body", "why"),
    [
        (ModelSettings(), b"<html>", "not JSON"),
        (ModelSettings(), b"[" * 100_000, "not JSON"),
        (ModelSettings(), b"{}", "no results of one task"),
        (ModelSettings(), ok({"results": [{}, {}]})[2], "no results of one task"),
        (ModelSettings(), ok({"results": [3]})[2], "no list of results"),
        (TALK, b"{}", "no message"),
        (TALK, said("I cannot help with that.")[2], "no JSON"),
        (TALK, said('{"boxes": 3}')[2], "no list of boxes"),
        (
            TALK,
            ok({"choices": [{"message": {"content": "["}, "finish_reason": "length"}]})[2],
            "cut off",
        ),
    ],
)
def test_an_answer_that_cannot_be_read_says_why(settings: ModelSettings, body: bytes, why: str) -> None:
    with pytest.raises(UnreadableAnswer, match=why):
        boxes_in_answer(settings, body, PICTURE, PHRASES)


_numbers = st.one_of(
    st.floats(), st.integers(-(10**30), 10**30), st.none(), st.text(max_size=3), st.booleans()
)


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "phrase": _numbers,
                "box": st.one_of(_numbers, st.lists(_numbers, min_size=3, max_size=5)),
                "score": _numbers,
            },
        ),
        max_size=6,
    ),
    coordinates=st.sampled_from(["pixels", SIDE_SHARES, THOUSANDTHS]),
)
def test_any_answer_gives_boxes_within_the_picture_or_is_counted(
    rows: list[dict[str, Any]], coordinates: str
) -> None:
    settings = ModelSettings(protocol=CHAT_PROTOCOL, coordinates=coordinates)
    result = boxes_in_answer(settings, said(json.dumps(rows))[2], PICTURE, PHRASES)
    stored = [box for boxes in result.boxes.values() for box in boxes]
    assert len(stored) + sum(result.left.values()) == len(rows)
    for box, chance in stored:
        assert 1 <= box.xmin <= box.xmax <= 200 and 1 <= box.ymin <= box.ymax <= 100 and 0 <= chance <= 1


def test_a_call_never_costs_more_than_what_is_reserved_for_it() -> None:
    (request,) = calls_of(TALK, PICTURE, PHRASES)
    text = request.body["messages"][0]["content"][0]["text"]
    most = most_cost(TALK, request)
    assert most == 500_000 + 2 * (len(text.encode()) + 5_000 + 100) + 10 * 2_000
    assert stated_cost(TALK, said("", usage=(1_000, 70))[2]) == 500_000 + 2_000 + 700
    assert stated_cost(TALK, said("", usage=None)[2]) is None
    assert stated_cost(TALK, said("", usage=(-1, 5))[2]) is None
    (asked,) = calls_of(ModelSettings(call_price=0.001), PICTURE, PHRASES)
    assert most_cost(ModelSettings(call_price=0.001), asked) == 1_000


# The service -------------------------------------------------------------------------------------


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(asking_models, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(asking_models, "_LOOK", 0.01)
    with serving(a_box_for_each) as running:
        settings.MODEL_ORIGINS = {running.origin: "a key"}
        yield running


@pytest.fixture
def world(tmp_path: Path, settings: Any) -> World:
    settings.DATA_DIR = tmp_path / "data"
    records = [
        replace(
            record,
            picture=a_picture(tmp_path / record.filename, colour, size=(record.width, record.height)),
        )
        for record, colour in zip(some_images(3), ("red", "green", "blue"), strict=True)
    ]
    return World(records, settings={**TRUSTING, "model_annotator": {"share": 1.0}})


def call(command: str, *arguments: str) -> Any:
    out = StringIO()
    call_command(command, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def drawer(world: World) -> ModelAnnotator:
    world.corpus.pictures_may_leave = True
    world.corpus.save()
    return model_annotators.model_annotator_add(campaign=world.campaign, name="drawer")


def set_address(world: World, address: str, **about: Any) -> Any:
    request = {"campaign": world.campaign.name, "model_annotator": "drawer", "address": address, **about}
    return people.perform("set_model_address", None, **request)


def ask(world: World, **about: Any) -> asking_models.AskedModel:
    request = asking_models.AskModelRequest(campaign=world.campaign.name, model_annotator="drawer", **about)
    return asking_models.ask_model(request, OperationContext())


def check_sums(drawer: ModelAnnotator) -> None:
    """All that is spent is of some call, and nothing runs."""
    drawer.refresh_from_db()
    calls = ModelCall.objects.filter(address__model_annotator=drawer)
    assert drawer.spent_micros == sum(calls.values_list("cost_micros", flat=True))
    assert not calls.filter(state=ModelCall.RUNNING).exists()
    assert all(row.cost_micros <= row.reserved_micros for row in calls)


@pytest.mark.django_db
def test_a_backend_s_boxes_are_proposed_and_judged_like_a_model_annotator_s(
    world: World, drawer: ModelAnnotator, server: ModelServer, client: Client
) -> None:
    set_address(world, f"{server.origin}/predict")
    done = ask(world, images=2)
    assert (done.images, done.failed, done.unasked, done.calls) == (2, 0, 0, 2)
    assert done.answers == Judgment.objects.filter(worker=drawer.worker).count()
    assert server.headers[0]["Authorization"] == "Bearer a key"
    proposals = ModelProposals.objects.filter(model_annotator=drawer, version=1)
    assert proposals.count() == 2 and any(row.boxes for row in proposals)
    stored = ModelCall.objects.order_by("pk").first()
    assert stored is not None and json.loads(stored.answer)["results"][0]["model_version"] == "v1"
    # The picture's address serves it, until its corpus is closed again.
    path = server.calls[0]["tasks"][0]["data"]["image"].removeprefix("http://127.0.0.1:8000")
    assert client.get(path).status_code == 200
    assert client.get(path[:-2]).status_code == 403
    world.corpus.pictures_may_leave = False
    world.corpus.save()
    assert client.get(path).status_code == 403
    world.corpus.pictures_may_leave = True
    world.corpus.save()
    # What was answered is not asked again; another address begins again.
    assert ask(world).calls == 1 and ask(world).calls == 0
    set_address(world, f"{server.origin}/other")
    again = ask(world)
    assert (again.version, again.images) == (2, 3)
    calls = call("list_model_calls", world.campaign.name, "drawer")["results"]
    assert len(calls) == 6 and calls[0]["address"].endswith("/other") and calls[-1]["settings"]["at_once"]
    check_sums(drawer)


@pytest.mark.django_db
def test_a_chat_gets_the_bytes_of_the_picture(
    world: World, drawer: ModelAnnotator, server: ModelServer
) -> None:
    server.behaviour = lambda number, body: said('[{"phrase": 1, "box": [10, 10, 60, 60]}]')
    set_address(
        world,
        f"{server.origin}/v1",
        protocol=CHAT_PROTOCOL,
        model="eyes",
        input_price=1,
        output_price=4,
        budget=1,
    )
    done = ask(world, images=1)
    (asked,) = server.calls
    assert asked["model"] == "eyes" and asked["temperature"] == 0 and asked["max_tokens"] == 2000
    text, shown = asked["messages"][0]["content"]
    assert "\n1. " in text["text"] and "{" + "phrases}" not in text["text"]
    kind, _, data = shown["image_url"]["url"].partition(";base64,")
    assert kind.startswith("data:image/") and len(base64.b64decode(data)) > 100
    assert done.spent == "0.0003" and done.boxes == 1  # 100 and 50 tokens
    check_sums(drawer)


def _gone(server: ModelServer) -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


FAILURES: dict[str, tuple[Callable[[int, Any], Any], str, int]] = {
    # name: (behaviour, what the call says, calls for an image)
    "slow": (slowly(1.5, a_box_for_each), "timeout", 3),
    "500": (lambda n, b: (500, {}, b"oh"), "status: 500", 3),
    "429": (lambda n, b: (429, {"Retry-After": "0"}, b""), "status: 429", 3),
    "bad request": (lambda n, b: (400, {}, b"too large"), "status: 400", 1),
    "nonsense": (lambda n, b: (200, {}, b"<html>"), "not JSON", 3),
    "half an answer": (lambda n, b: (200, {"Content-Length": "999"}, b'{"resul'), "no_answer", 3),
    "closed": (lambda n, b: None, "no_answer", 3),
    "endless": (lambda n, b: (200, {}, b" " * (asking_models.MOST_ANSWER + 2)), "too_large", 1),
    "key refused": (lambda n, b: (401, {}, b""), "status: 401", 1),
    "elsewhere": (lambda n, b: (302, {"Location": "http://10.0.0.1/"}, b""), "redirect: 302", 1),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*FAILURES, "gone"])
def test_a_model_that_fails_costs_what_may_have_been_spent_and_stores_no_box(
    world: World, drawer: ModelAnnotator, server: ModelServer, settings: Any, name: str
) -> None:
    origin = server.origin
    if name == "gone":
        origin = _gone(server)
        settings.MODEL_ORIGINS = {origin: ""}
        message, calls = "ConnectionRefusedError", 3
    else:
        server.behaviour, message, calls = FAILURES[name]
    set_address(world, f"{origin}/predict", call_price=0.01, budget=10, seconds=1)
    if name in ("key refused", "elsewhere"):
        with pytest.raises(CampaignError, match=f"cannot be asked: {message}"):
            ask(world, images=1)
    else:
        done = ask(world, images=1)
        assert (done.images, done.failed, done.calls, done.boxes) == (0, 1, calls, 0)
    last = ModelCall.objects.order_by("pk").last()
    assert last is not None and message in last.error
    free = name in ("429", "bad request", "key refused", "elsewhere", "gone")
    assert last.cost_micros == (0 if free else 10_000)
    check_sums(drawer)
    assert not ModelProposals.objects.filter(model_annotator=drawer).exclude(boxes={}).exists()
    # It is asked again when it works.
    server.behaviour = a_box_for_each
    settings.MODEL_ORIGINS = {server.origin: ""}
    set_address(world, f"{server.origin}/predict", call_price=0.01, budget=10)
    assert ask(world, images=1).images == 1


@pytest.mark.django_db
def test_after_some_failures_in_a_row_no_more_is_asked(
    world: World, drawer: ModelAnnotator, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_models, "MOST_FAILED", 2)
    server.behaviour = lambda n, b: (503, {}, b"") if n >= 1 else a_box_for_each(n, b)
    set_address(world, f"{server.origin}/predict", parallel=1)
    with pytest.raises(CampaignError, match="cannot be asked: status: 503. 1 images have its boxes"):
        ask(world)
    assert len(server.calls) == 1 + 2 * asking_models.ATTEMPTS
    server.behaviour = a_box_for_each
    assert ask(world).calls == 2
    check_sums(drawer)


@pytest.mark.django_db
def test_a_random_use_with_lost_answers_never_exceeds_the_budget(
    world: World, drawer: ModelAnnotator, server: ModelServer
) -> None:
    rng, text = random.Random(5), '[{"phrase": 1, "box": [1, 1, 20, 20]}]'

    def behaviour(number: int, body: Any) -> Any:
        drawn = rng.random()
        if drawn < 0.3:
            return None
        time.sleep(0.03 * drawn)
        return said(text, usage=None if drawn < 0.4 else (rng.randrange(5_000), rng.randrange(2_001)))

    server.behaviour = behaviour
    about: dict[str, Any] = {
        "protocol": CHAT_PROTOCOL,
        "input_price": 1,
        "output_price": 10,
        "at_once": False,
    }
    about |= {"parallel": 8, "a_minute": 100_000}
    set_address(world, f"{server.origin}/v1", **about, budget=0.1)
    done = ask(world)
    drawer.refresh_from_db()
    check_sums(drawer)
    assert 74_000 < drawer.spent_micros <= drawer.budget_micros == 100_000
    assert done.unasked > 0 and server.most_at_once > 1
    # The rest is asked with more money.
    server.behaviour = lambda number, body: said(text)
    set_address(world, f"{server.origin}/v1", **about, budget=9)
    assert ask(world).unasked == 0


@pytest.mark.django_db
def test_calls_that_a_killed_process_left_count_as_spent(
    world: World, drawer: ModelAnnotator, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_arguments: Any) -> None:
        raise KeyboardInterrupt

    set_address(world, f"{server.origin}/predict", call_price=0.5, budget=20)
    with monkeypatch.context() as patch:
        patch.setattr(asking_models._Asking, "_settle", die)
        with pytest.raises(KeyboardInterrupt):
            ask(world, images=1)
    assert ModelCall.objects.get().state == ModelCall.RUNNING
    done = ask(world, images=1)
    assert ModelCall.objects.order_by("pk").values_list("state", flat=True)[0] == ModelCall.UNKNOWN
    assert (done.images, done.spent) == (1, "1.00")
    check_sums(drawer)


@pytest.mark.django_db
def test_pictures_stay_here_unless_somebody_allows_it(
    world: World, drawer: ModelAnnotator, server: ModelServer
) -> None:
    with pytest.raises(CommandError, match="'drawer' has no address"):
        call("ask_model", world.campaign.name, "drawer")
    set_address(world, f"{server.origin}/predict")
    people.perform("set_pictures_may_leave", None, corpus=world.corpus.name, may_leave=False)
    with pytest.raises(CommandError, match="may not leave the server"):
        call("ask_model", world.campaign.name, "drawer")
    assert not server.calls


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1/predict", "https://127.0.0.1/", "https://10.0.0.1/predict", "http://example.org/"],
)
def test_only_public_addresses_and_those_of_the_operator_are_asked(
    world: World, drawer: ModelAnnotator, server: ModelServer, address: str
) -> None:
    with pytest.raises(Invalid) as error:
        set_address(world, address)
    assert [problem.field for problem in error.value.errors] == ["address"]
    with pytest.raises(Invalid) as error:
        set_address(world, f"{server.origin}/v1", protocol=CHAT_PROTOCOL, prompt="What is here?")
    assert [problem.field for problem in error.value.errors] == ["prompt"]


def test_the_address_of_a_picture_names_no_other(tmp_path: Path, client: Client, db: None) -> None:
    assert client.get("/pictures/for-models/abc:def:ghi").status_code == 403
