"""A valid call of every operation of the product: to be spoilt, and to succeed unchanged.

One file contains all forms and the API, so that operations without an attack are detected (`unattacked`).
Rows are queried when a call is made, since earlier calls have changed them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyotp
from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from PIL import Image as Pillow

from annotation import campaigns, instructions
from annotation.campaigns.drafts import keeping, posing
from annotation.campaigns.drafts.fields import STEPS
from annotation.campaigns.drafts.reading import read_draft
from annotation.campaigns.model_annotators import model_annotator_add
from annotation.common import database
from annotation.common.operations import OperationContext, result_to_dict
from annotation.datasets import uploads
from annotation.datasets.uploaded_source import preview_picture
from annotation.images.model_pictures import model_picture_address
from annotation.jobs.kinds import corpus_uploads
from annotation.models import (
    Account,
    Assignment,
    Campaign,
    CampaignDraft,
    Caption,
    Control,
    Corpus,
    ErrorSample,
    Flag,
    Image,
    Invitation,
    Job,
    Judgment,
    OpenImage,
    Ruling,
    Webhook,
    Worker,
)
from annotation.moderation import rulings
from annotation.notifications import hooks
from annotation.protocol import questions as q
from annotation.protocol.questions import Answer
from annotation.protocol.rulings import KeepApart
from annotation.queue import leases, submission
from annotation.queue.leases import Lease
from annotation.recruitment import mturk, prolific
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from annotation.workers import invitations
from annotation.workers.accounts import inviting, second_factor, worker_tokens
from annotation.workers.picture_addresses import signed_picture_address
from evaluation.models import System
from models_core.estimators.base import METHODS
from models_core.systems.table11 import TABLE_11
from phrasebox.errors import PhraseboxError
from tests.crowd import platform
from tests.factories import stored_picture
from tests.hostile.calls import Call
from tests.hostile.world import IMAGES, numbers
from tests.review.world import HAT, MAN, THE_MAN
from tests.web import world as web

STRANGER, ANNOTATOR, REVIEWER, RESEARCHER, ADMIN = "stranger", "annotator", "reviewer", "researcher", "admin"
ALL = (STRANGER, ANNOTATOR, REVIEWER, RESEARCHER, ADMIN)
SIGNED_IN, READERS, RUNNERS = ALL[1:], ALL[2:], ALL[3:]
#: A campaign for every kind of question.
REQUESTS = {
    "quay": q.COREF_LINK,
    "relevance": RELEVANCE,
    "graded": GRADED_RELEVANCE,
    "captions": CAPTION_WRITING,
    "regions": REGION_DESCRIPTION,
}
REGIONS = [{"box": [n, 2, 60 + n, 90], "text": f"part {n}", "way": "drag"} for n in range(1, 6)]
TREC = "scene-2.png Q0 scene-2.png#0 1 1.0 x\nscene-5.png Q0 scene-2.png#0 1 1.0 x\n"
LOCALIZED = json.dumps(
    {
        "image": "scene-1.png",
        "caption": 0,
        "start": 0,
        "end": 1,
        "phrase": "a",
        "regions": [[1, 1, 9, 9, 0.5]],
    }
)
KNOWN = (
    "kind,purpose,image,mentions,boxes,pending,known,explanation\nbox_requirement,control,man,0:3-5,,,box,\n"
)
SETTINGS = "[trust]\nqualification = false\n"
#: Grades of pairs, as an uploaded file.
GRADES, TABLE = 'filename="x.csv"', b"image,caption,grade\nscene-2.png,scene-2.png#0,4.5\n"


@dataclass
class At:
    """The caller and client of a call; the rest is random."""

    role: str
    client: Client
    rng: Random
    count: int = 0

    def choice(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def new(self, what: str = "x") -> str:
        """Return an unused name."""
        self.count += 1
        return f"{what}-{self.count}-{self.rng.randrange(10**6)}"

    @property
    def account(self) -> Account:
        """Return the caller; for a stranger, the account that the call is about."""
        return Account.objects.get(username=ANNOTATOR if self.role == STRANGER else self.role)

    @property
    def worker(self) -> int:
        return Worker.objects.get(identity__account=self.account).pk


Make = Callable[[At], Call]


@dataclass(frozen=True)
class Operation:
    """A route with a method, and perhaps one of several acts; `roles` may use it."""

    name: str
    route: str
    roles: tuple[str, ...]
    make: Make = field(compare=False)


OPERATIONS: list[Operation] = []


def _register(route: str, called: str, roles: Iterable[str], make: Make) -> None:
    name = f"{route} {called}"
    assert name not in {operations.name for operations in OPERATIONS}, f"there are two operations {name!r}"
    OPERATIONS.append(Operation(name, route, tuple(roles), make))


def _text_of(args: Iterable[Any]) -> str:
    """Return the last constant argument."""
    return next((arg for arg in reversed(list(args)) if isinstance(arg, str)), "")


def get(route: str, roles: Iterable[str], *args: Any, called: str = "", **query: Any) -> None:
    """Add a page; values may be functions of `At`."""

    def make(at: At) -> Call:
        questions = [(name.rstrip("_"), str(_of(value, at))) for name, value in query.items()]
        return Call("GET", reverse(route, args=[_of(arg, at) for arg in args]), questions)

    _register(route, called or _text_of(args) or "seen", roles, make)


def post(route: str, roles: Iterable[str], *args: Any, called: str = "", **fields: Any) -> None:
    """Add a form; a value may be a function of `At`, a list is sent as several fields, bytes as a file."""

    def make(at: At) -> Call:
        call = Call("POST", reverse(route, args=[_of(arg, at) for arg in args]))
        for name, value in fields.items():
            value = _of(value, at)
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, bytes):
                    call.files.append((name.rstrip("_"), 'filename="sent.npy"', item))
                else:
                    call.fields.append((name.rstrip("_"), str(item)))
        return call

    usual = str(args[0]) if route == "operation" else "sent"
    _register(route, called or fields.get("act") or usual, roles, make)


def api(route: str, called: str, make: Callable[[At], tuple[list[Any], Any]], method: str = "POST") -> None:
    """Add a call of the API, by the session or by the account's token."""

    def created(at: At) -> Call:
        args, data = make(at)
        call = Call(method, reverse(route, args=args), json=data if method == "POST" else None)
        if at.role != STRANGER and at.rng.random() < 0.4:
            call.headers["Authorization"] = f"Token {worker_tokens.make_worker_token(at.account)}"
        return call

    _register(route, called, SIGNED_IN, created)


def by(route: str, called: str, roles: Iterable[str]) -> Callable[[Make], Make]:
    """Add an operation whose call a function makes."""

    def store(make: Make) -> Make:
        _register(route, called, roles, make)
        return make

    return store


def unattacked() -> set[str]:
    """Return names of routes without an operation. Those of the REST API are attacked from its OpenAPI
    document (`tests/api/v1/test_schemathesis.py`)."""
    names = {route for route in _routes(get_resolver().url_patterns) if not route.startswith("v1_")}
    return names - {operations.route for operations in OPERATIONS}


def _routes(result: Iterable[Any], space: str = "") -> Iterator[str]:
    for entry in result:
        if isinstance(entry, URLResolver):
            yield from _routes(entry.url_patterns, f"{entry.namespace}:" if entry.namespace else space)
        elif isinstance(entry, URLPattern):
            yield space + (entry.name or str(entry.pattern))


def _of(value: Any, at: At) -> Any:
    return value(at) if callable(value) else value


# Coming, signing in, accounts ------------------------------------------------------------------

PASSWORD = {"new_password1": "quite-another-Word-7", "new_password2": "quite-another-Word-7"}

get("sign_in", ALL, next="/tasks/")
get("api_nothing", ALL)
post(
    "sign_in",
    ALL,
    username=lambda at: at.choice("annotator", "admin"),
    password=web.PASSWORD,
    next="/account/",
)


def _give_factor(account: Account) -> pyotp.TOTP:
    """Give an account a second factor; return its app."""
    app = pyotp.TOTP(second_factor.begin_second_factor(account))
    second_factor.confirm_second_factor(account=account, code=app.now())
    return app


def _password_accepted(at: At) -> str:
    """Enter the password of an account with a second factor, without a session; return the next code of its
    app."""
    account = web.account(at.new("factor"), ANNOTATOR)
    app = _give_factor(account)
    if at.role == STRANGER:
        form_data = {"username": account.username, "password": web.PASSWORD}
        at.client.post(
            reverse("sign_in"), form_data, headers={"X-CSRFToken": at.client.cookies["csrf"].value}
        )
    return app.at(database.now() + timedelta(seconds=app.interval))


@by("second_factor", "seen", ALL)
def code_form(at: At) -> Call:
    _password_accepted(at)
    return Call("GET", reverse("second_factor"))


@by("second_factor", "sent", ALL)
def code_entered(at: At) -> Call:
    return Call("POST", reverse("second_factor"), fields=[("code", _password_accepted(at))])


post("sign_out", ALL)
post("choose_language", ALL, language=lambda at: at.choice("de", "en"), next="/account/")
get("reset", ALL)
post("reset", ALL, email=lambda at: f"{at.choice(*SIGNED_IN)}@example.org")
get("reset_sent", ALL)


def _letter(at: At) -> list[str]:
    account = Account.objects.get(username=at.choice(*SIGNED_IN))
    number = urlsafe_base64_encode(force_bytes(account.pk))
    return [number, default_token_generator.make_token(account)]


@by("password_reset_confirm", "followed", ALL)
def followed(at: At) -> Call:
    return Call("GET", reverse("password_reset_confirm", args=_letter(at)))


@by("password_reset_confirm", "set", ALL)
def password_set(at: At) -> Call:
    number, token = _letter(at)
    # The link stores its token in the session, and redirects.
    at.client.get(reverse("password_reset_confirm", args=[number, token]))
    address = reverse("password_reset_confirm", args=[number, "set-password"])
    return Call("POST", address, fields=list(PASSWORD.items()))


def _link(at: At) -> str:
    return invitations.invitation_token(Invitation.objects.order_by("pk")[0])


get("invite", ALL, _link)
post("invite", [STRANGER], _link, act="once", version="0")
post(
    "invite",
    [STRANGER],
    _link,
    called="by name",
    username=lambda at: at.new("name"),
    password1=PASSWORD["new_password1"],
    password2=PASSWORD["new_password1"],
)
get("invite_begun", SIGNED_IN)


@by("prolific", "come", ALL)
def come(at: At) -> Call:
    ids = {
        "PROLIFIC_PID": at.choice(platform.ANN, at.new("p")),
        "STUDY_ID": platform.STUDY,
        "SESSION_ID": at.new("s"),
    }
    return Call("GET", reverse("prolific", args=["quay"]), list(ids.items()))


@by("prolific", "by a link", ALL)
def come_by_link(at: At) -> Call:
    who, submission = at.new("p"), at.new("s")
    ids = {"PROLIFIC_PID": who, "STUDY_ID": platform.STUDY, "SESSION_ID": submission}
    ids["prolific_token"] = platform.token(who, submission)
    return Call("GET", reverse("prolific", args=["quay"]), list(ids.items()))


@by("prolific_webhook", "told", ALL)
def described(at: At) -> Call:
    about = {"event_type": "submission.status.change", "resource_id": platform.FIRST}
    about |= {"participant_id": platform.ANN, "status": at.choice("RETURNED", "APPROVED", "x")}
    # Signed after spoiling: spoilt signatures are below.
    if at.rng.random() < 0.5:
        about[at.choice(*about)] = at.choice("\ud800", "\0", 1, None, "x" * 41, ["a"])
    body, stamp = json.dumps(about).encode(), str(int(time.time()))
    headers = {
        "X-Prolific-Request-Signature": prolific.signature(platform.SECRET, stamp, body),
        "X-Prolific-Request-Timestamp": stamp,
        "X-Timestamp": at.choice(stamp, "9" * 10, "9" * 9 + ".5"),
    }
    return Call("POST", reverse("prolific_webhook"), body=body, kind="application/json", headers=headers)


get("mturk", ALL, "quay", called="before")
get("mturk", ALL, "quay", called="accepted", **platform.TURK)
get("mturk_begin", ALL, "quay", lambda at: mturk._SIGNER.sign_object([at.new("assignment"), at.new("A2W")]))
get("visit", SIGNED_IN)
get("visit", SIGNED_IN, called="whether it waits", part="state")
post("finish_visit", SIGNED_IN)
get("account", SIGNED_IN)
post("account_mail", SIGNED_IN, email=lambda at: at.choice("", "new@example.org"))
get("own_answers", SIGNED_IN)
post("erase_me", [ANNOTATOR], sure="yes", texts="yes")
get("password_change", SIGNED_IN)
post("password_change", SIGNED_IN, old_password=web.PASSWORD, **PASSWORD)
by("healthz", "seen", ALL)(lambda at: Call("GET", "/healthz"))
by("readyz", "seen", ALL)(lambda at: Call("GET", "/readyz"))

# Work ------------------------------------------------------------------------------------------


def _answer(lease: Lease) -> dict[str, Any]:
    """Return a valid answer to the question."""
    match lease.kind:
        case q.COREF_LINK:
            return {"answer": "no"}
        case "graded_relevance":
            return {"answer": "3"}
        case "relevance":
            blocks = lease.content["blocks"]
            return {"answer": "judged", "ticked": [[True] * len(block["captions"]) for block in blocks]}
        case "caption_writing":
            return {"answer": "written", "text": "Two people walk their dogs."}
        case _:
            return {"answer": "described", "regions": REGIONS}


def _form(lease: Lease) -> dict[str, str]:
    """Return it in a page's form."""
    value = _answer(lease)
    form = {"answer": value["answer"], **({"text": value["text"]} if "text" in value else {})}
    if "ticked" in value:
        form["sizes"] = ",".join(str(len(row)) for row in value["ticked"])
        form["tick-0-1"] = "on"
    for number, region in enumerate(value.get("regions", ())):
        edges = zip(("xmin", "ymin", "xmax", "ymax"), map(str, region["box"]), strict=True)
        form |= {f"region-{number}-{k}": v for k, v in (*edges, ("text", region["text"]), ("way", "drag"))}
    return form


def _held(at: At, name: str) -> Lease | None:
    """Return a leased task of the caller, None if nothing is left."""
    campaign = Campaign.objects.get(name=name)
    lease = leases.take_lease(worker=at.worker, campaign=campaign, kind=REQUESTS[name])
    return lease if isinstance(lease, Lease) else None


def _number(lease: Lease | None) -> int:
    return lease.id if lease else 1


def _kind(at: At) -> tuple[str, str]:
    return at.rng.choice(list(REQUESTS.items()))


api("api_tasks", "listed", lambda at: ([], None), "GET")


def _of_request(name: str) -> Callable[[At], tuple[list[Any], Any]]:
    return lambda at: ([], {"campaign": name, "kind": REQUESTS[name], "holding": at.choice([], [1, 2])})


for _name, _request in REQUESTS.items():
    api("api_next", _request, _of_request(_name))


def _handed_in(name: str, by_form: bool) -> Callable[[At], tuple[list[Any], Any]]:
    def make(at: At) -> tuple[list[Any], Any]:
        lease = _held(at, name)
        by_name: dict[str, Any] = {"answer": "no"}
        if lease is not None:
            by_name = {"form": _form(lease), "kind": lease.kind} if by_form else _answer(lease)
        more = {
            "token": at.new("t"),
            "seconds": at.choice(None, 2.5, 3),
            "holding": [],
            "next": at.choice(True, False),
        }
        return [_number(lease)], {**by_name, **more}

    return make


for _name, _request in REQUESTS.items():
    api("api_answer", _request, _handed_in(_name, False))
    api("api_answer", f"{_request} by form", _handed_in(_name, True))


def _value_of(at: At) -> int:
    """Return an answer that may be changed, given now."""
    lease = _held(at, "quay")
    if lease is not None:
        assignment = Assignment.objects.get(pk=lease.id)
        answer = Answer("yes")
        submission.submit(
            worker=assignment.worker_id, assignment=lease.id, answer=answer, token=at.new("t"), then=False
        )
    return _number(lease)


def _recent(at: At) -> tuple[list[Any], Any]:
    name = at.choice(*REQUESTS)
    return [], {"campaign": name, "kind": REQUESTS[name]}


def _reported(at: At) -> tuple[list[Any], Any]:
    lease = _held(at, at.choice(*REQUESTS))
    return [_number(lease)], {"flag": "offensive", "comment": "=cmd", "token": at.new("t"), "next": False}


api("api_answer", "reported", _reported)
api("api_change", "changed", lambda at: ([_value_of(at)], {"answer": at.choice("yes", "no")}))
api("api_recent_answers", "listed", _recent)
api("api_return", "returned", lambda at: ([_number(_held(at, at.choice(*REQUESTS)))], {}))
api("api_heartbeat", "alive", lambda at: ([_number(_held(at, at.choice(*REQUESTS)))], {}))
api("api_test", "begun", lambda at: ([], {"campaign": "tested", "kind": q.COREF_LINK}))
api("api_consent", "read", lambda at: ([at.choice(*REQUESTS)], None), "GET")
api("api_consent", "agreed", lambda at: (["tested"], {"version": 1}))
api(
    "api_spelling",
    "looked at",
    lambda at: ([], {"text": "Two poeple wlak .", "campaign": at.choice("captions", None)}),
)

get("tasks", SIGNED_IN)
for _name, _request in REQUESTS.items():
    get(
        "task",
        SIGNED_IN,
        _name,
        _request,
        part=lambda at: at.choice("task", ""),
        holding=lambda at: at.choice("", "1,2"),
    )
    get("task_instructions", SIGNED_IN, _name, _request)
    post("task_instructions", SIGNED_IN, _name, _request, called=f"{_request} read")
    get(
        "task_practice",
        SIGNED_IN,
        _name,
        _request,
        n=lambda at: at.choice(1, 2, 3, 99),
        right=lambda at: at.choice(0, 1),
    )
get("task_answers", SIGNED_IN, "quay", q.COREF_LINK)
get("task_answer_again", SIGNED_IN, "quay", q.COREF_LINK, _value_of)
post("task_answer_again", SIGNED_IN, "quay", q.COREF_LINK, _value_of, answer="no")
get("task_consent", SIGNED_IN, "tested", kind=q.COREF_LINK)
post("task_consent", SIGNED_IN, "tested", version="1")
get("task_country", SIGNED_IN, "tested", kind=q.COREF_LINK)
post("task_country", SIGNED_IN, "tested", country=lambda at: at.choice("US", "DE", ""))
post("task_test", SIGNED_IN, "tested", q.COREF_LINK)
post("task_practice", SIGNED_IN, "quay", q.COREF_LINK, answer="yes")
post(
    "task_practice",
    SIGNED_IN,
    "quay",
    q.BOX_DRAWING,
    called="drawn",
    answer="drawn",
    xmin=3,
    ymin=4,
    xmax=90,
    ymax=80,
)


def _form_page(name: str) -> Make:
    def make(at: At) -> Call:
        lease = _held(at, name)
        held = {"assignment": str(_number(lease)), "token": at.new("t"), "seconds": "2.5"}
        form = _form(lease) if lease else {"answer": "no"}
        return Call(
            "POST", reverse("task", args=[name, REQUESTS[name]]), fields=list({**held, **form}.items())
        )

    return make


for _name, _request in REQUESTS.items():
    by("task", f"{_request} sent", SIGNED_IN)(_form_page(_name))


@by("task", "returned", SIGNED_IN)
def returned(at: At) -> Call:
    name, kind = _kind(at)
    fields = [("act", "return"), ("assignment", str(_number(_held(at, name))))]
    return Call("POST", reverse("task", args=[name, kind]), fields=fields)


# Looking at corpora ----------------------------------------------------------------------------

get("home", SIGNED_IN)
get("documentation", SIGNED_IN, lambda at: at.choice("", "index.html", "../config/settings.py"))
get("operation_list", SIGNED_IN)
get("corpus", READERS, "quay", split="test", category="people", text="dogs", layer="import", after=1)
get("corpus", READERS, "quay", called="unfinished", before=4, unfinished=1)
get("corpus", READERS, "quay", called="tagged", tags='dog and "soccer field" or cat', after=1)


def _error_sample(at: At) -> int:
    web.perform("draw_error_sample", corpus="quay", layer="import", size=2)
    return ErrorSample.objects.latest("pk").pk


get("error_samples", READERS, "quay")
get("error_sample_next", READERS, "quay", _error_sample)
get("sampled_mention", READERS, "quay", _error_sample, lambda at: at.choice(1, 2))
get("operation_tables", READERS, "error_rates", "csv", corpus="quay", sample=_error_sample)
get("image", READERS, "quay", "scene-1", chain=1, split="val", text="dogs", layer="import")
get("tags", READERS, "quay", contains="do", skip=1)
get("export_tags", READERS, "quay", lambda at: at.choice("csv", "jsonl"))


@by("picture", "seen", SIGNED_IN)
def picture(at: At) -> Call:
    request: Any = RequestFactory().get("/")
    request.session, request.user = at.client.session, at.account
    name = Image.objects.exclude(picture="").order_by("pk")[at.rng.randrange(2)].picture
    return Call("GET", signed_picture_address(request, name, at.choice("full", "small")))


@by("model_picture", "seen", ALL)
def model_picture(at: At) -> Call:
    Corpus.objects.update(pictures_may_leave=True)
    name = Image.objects.exclude(picture="").order_by("pk")[at.rng.randrange(2)].picture
    return Call("GET", model_picture_address(name))


# Campaigns -------------------------------------------------------------------------------------

NAMES = (*REQUESTS, "review", "batch")


def _campaign(at: At) -> str:
    return at.choice(*NAMES)


def _worker(at: At) -> str:
    return "quay-w0"


def _job(state: str, kind: str = "export_dataset") -> Callable[[At], int]:
    def find(at: At) -> int:
        jobs = Job.objects.filter(
            state=state, kind=kind, **({"campaign__name": "quay"} if kind[:6] == "export" else {})
        )
        return jobs.order_by("pk").values_list("pk", flat=True).first() or 1

    return find


def _mine(model: Any) -> Callable[[At], int]:
    def find(at: At) -> int:
        return model.objects.order_by("-pk").values_list("pk", flat=True).first() or 1

    return find


def _settings(at: At) -> int:
    """Return the current version of the settings."""
    return Campaign.objects.values_list("settings_version", flat=True).get(name="quay")


def _text(kind: str) -> Callable[[At], int]:
    """Return the current version of a text."""
    return lambda at: instructions.current_text(campaign=Campaign.objects.get(name="quay"), kind=kind).version


def _chain(at: At) -> str:
    """Return the mentions of the chain that waits for a reviewer."""
    row = OpenImage.objects.get(campaign__name="review")
    return " ".join(next((c["m"] for c in row.state["chains"] if c["s"] == "REVIEW"), [MAN, THE_MAN]))


get("campaigns", READERS, find="qua", sort="name", down=1, archived=lambda at: at.choice("", "1"))
get("campaign", READERS, _campaign)
get("campaign_settings", READERS, _campaign)
post(
    "operation",
    RUNNERS,
    "set_stop_rules",
    campaign="quay",
    budget="12.5",
    until="2031-01-01",
    images="5",
    base_version=_settings,
)
get("change_settings", RUNNERS, _campaign)
post(
    "change_settings",
    RUNNERS,
    "quay",
    campaign_settings="[lease]\nminutes = 5.0",
    act="look",
    base_version=_settings,
    unpaid="on",
)
get("image_order", RUNNERS, _campaign)
post(
    "operation",
    RUNNERS,
    "prioritise_images",
    campaign="quay",
    images="scene-1.png\nscene-2",
    priority=lambda at: at.choice(1, 0, -7, 1000),
)
get("review", READERS, "review", reason="", after="", reports="all", before=10**6)
get("review_image", READERS, "review", "man", chain=1, draw=1)
post("rule", READERS, "review", "man", act="keep", chain=_chain, comment="+1")
post("rule", READERS, "review", "man", act="close", chain=_chain, as_="none")
post("rule", READERS, "review", "man", act="boxes", chain=HAT, boxes="1, 2, 30, 40\n5 6 70 80")
post("rule", READERS, "review", "man", act="regroup", chain=_chain, **{f"to:{THE_MAN}": "new1"})
post("rule", READERS, "review", "man", act="apart", a=MAN, b=HAT)
post("rule", READERS, "review", "man", act="resume", chain=_chain)


@by("operation", "withdraw_ruling", READERS)
def withdrawn(at: At) -> Call:
    row = OpenImage.objects.get(campaign__name="review")
    if not Ruling.objects.filter(image=row, withdrawn_at=None).exists():
        rulings.make_ruling(image=row.pk, ruling=KeepApart(MAN, HAT), seen=[], comment="", actor=at.account)
    ruling = Ruling.objects.filter(image=row, withdrawn_at=None)[0]
    call = Call("POST", reverse("operation", args=["withdraw_ruling"]))
    call.fields += [("campaign", "review"), ("ruling", str(ruling.pk))]
    return call


get("mend_image", READERS, "review", "man", report=1)
post("mend_image", READERS, "review", "man", act="preview", seen=f"{MAN} {HAT}", phrases=MAN)
post(
    "mend_image",
    READERS,
    "review",
    "man",
    act="save",
    seen=f"{MAN} {HAT}",
    phrases=f"{MAN} 0:4-5",
    comment="<b>+1</b>",
    **{f"categories:{MAN}": "other", f"noun:{MAN}": "A"},
)
get("phrase_rules", READERS, "review", words="hat", act="remove", whole="false")
post(
    "operation",
    READERS,
    "apply_phrase_rule",
    campaign="review",
    words="hat",
    act="categorise",
    categories=lambda at: at.choice("other", "scene"),
    next="/campaigns/review/phrases/",
)
get("answers", READERS, "review", kind="coref_link", state="undecided", since="2000-01-01", after=10**6)
post(
    "operation",
    READERS,
    "review_answers",
    campaign="review",
    answers=_mine(Judgment),
    decision=lambda at: at.choice("accepted", "rejected", "undecided"),
    reason=lambda at: at.choice("", "<b>Bad.</b>"),
    next="/campaigns/review/answers/",
)
post(
    "operation",
    READERS,
    "resolve_flag",
    campaign="review",
    flag=_mine(Flag),
    next="/campaigns/review/review/",
)
post(
    "operation",
    RUNNERS,
    "open_campaign",
    name=lambda at: at.new("campaign"),
    corpus="quay",
    tasks=lambda at: at.choice("entities", "captions"),
    split="test",
    images="2",
    campaign_settings=SETTINGS,
    unpaid="true",
)


def _draft_of_caller(at: At) -> int:
    """Return a draft of the caller."""
    draft = CampaignDraft.objects.filter(owner=at.account).order_by("pk").first()
    quay = Corpus.objects.get(name="quay")
    return (draft or keeping.begin_draft(owner=at.account, corpus=quay)).pk


get("campaign_drafts", RUNNERS, corpus="quay")
post("campaign_drafts", RUNNERS, corpus="quay")
for _step in STEPS:
    get("draft_step", RUNNERS, _draft_of_caller, _step, called=f"{_step} seen")
post(
    "draft_step",
    RUNNERS,
    _draft_of_caller,
    "corpus",
    called="corpus",
    corpus="quay",
    name=lambda at: at.new("draft"),
    split="test",
    images="2",
    go="next",
)
post(
    "draft_step",
    RUNNERS,
    _draft_of_caller,
    "questions",
    called="questions",
    tasks="entities",
    boxes="always",
    go="pay",
)
post(
    "draft_step",
    RUNNERS,
    _draft_of_caller,
    "pay",
    called="pay",
    go="next",
    **{"pay.basis": "item", "pay.currency": "EUR", "pay.per_item.coref_link": "0.02", "unpaid": "yes"},
)
post(
    "draft_step",
    RUNNERS,
    _draft_of_caller,
    "test",
    called="test",
    entry="practice",
    known="import",
    go="next",
)
post(
    "draft_step",
    RUNNERS,
    _draft_of_caller,
    "votes",
    called="votes",
    go="stay",
    **{"link_votes": "3", "verification_votes": "1", "flags_to_review": "2", "stop.until": "2099-01-31"},
)
get("draft_settings", RUNNERS, _draft_of_caller)
post("draft_settings", RUNNERS, _draft_of_caller, settings=SETTINGS)
get("mark_items", RUNNERS, _draft_of_caller, q.COREF_LINK, purpose="control", turn=0)


@by("mark_items", "marked", RUNNERS)
def words_marked(at: At) -> Call:
    draft = CampaignDraft.objects.get(pk=_draft_of_caller(at))
    posed = posing.posed_questions(read_draft(draft), q.COREF_LINK)
    stamps = [(f"mark-{number}-of", item.stamp) for number, item in enumerate(posed)]
    address = reverse("mark_items", args=[draft.pk, q.COREF_LINK])
    answers = [("mark-0", "yes"), ("mark-1", "no")]
    return Call("POST", address, fields=[("go", "done"), *stamps, *answers])


get("preview_task", RUNNERS, _draft_of_caller, q.COREF_LINK, n=1)
post("preview_task", RUNNERS, _draft_of_caller, q.COREF_LINK, answer="yes")


@by("mark_boxes", "shown", RUNNERS)
def boxes_marked(at: At) -> Call:
    draft = CampaignDraft.objects.get(pk=_draft_of_caller(at))
    posed = posing.posed_questions(read_draft(draft), q.BOX_DRAWING)
    address = reverse("mark_boxes", args=[draft.pk, q.BOX_DRAWING])
    key = posed[0].key if posed else "none"  # A draft may have lost its corpus.
    return Call("GET", address, [("image", key), ("turn", "0")])


post(
    "draft_step",
    RUNNERS,
    _draft_of_caller,
    "open",
    called="opened",
    pilot="yes",
    open_to_all="",
    go="open-now",
)
post("delete_draft", RUNNERS, _draft_of_caller)
post("operation", RUNNERS, "duplicate_campaign", campaign="graded")


@by("operation", "go_on_with_all", RUNNERS)
def gone_on(at: At) -> Call:
    Campaign.objects.filter(name="quay").update(pilot={"split": None, "images": None, "tags": []})
    address = reverse("operation", args=["go_on_with_all"])
    return Call("POST", address, fields=[("campaign", "quay")])


post("operation", RUNNERS, "pause_campaign", campaign="graded", reason="=why")
post(
    "operation",
    RUNNERS,
    "archive_campaign",
    campaign="paused",
    archived=lambda at: at.choice("true", "false"),
)
post("operation", RUNNERS, "resume_campaign", campaign="paused")
post("operation", RUNNERS, "close_campaign", campaign="paused", reason="over", next="/campaigns/")
post("operation", RUNNERS, "drop_planned_images", campaign="quay")
get("workers", RUNNERS, _campaign, sort="accuracy", way="up", kind="", state="", find="w", after=0)
get("worker", RUNNERS, "quay", _worker)
for _act in ("suspend_workers", "reinstate_workers", "withdraw_answers", "restore_answers"):
    post(
        "operation",
        RUNNERS,
        _act,
        campaign="quay",
        workers=_worker,
        kind=lambda at: at.choice("", q.COREF_LINK),
        reason="@x",
    )


def _model_annotator(at: At) -> str:
    """Return the name of a model annotator of the campaign quay that may be trained."""
    return model_annotator_add(
        campaign=Campaign.objects.get(name="quay"), name=at.new("model_annotator")
    ).name


get("model_annotators", RUNNERS, "quay")
post("operation", RUNNERS, "add_model_annotator", campaign="quay", name=lambda at: at.new("drawer"))
post("operation", RUNNERS, "train_model_annotator", campaign="quay", model_annotator=_model_annotator)
post("operation", [ADMIN], "erase_worker", worker=_worker)
get("entry", RUNNERS, "quay")
post(
    "operation",
    RUNNERS,
    "save_study",
    campaign="quay",
    platform="prolific",
    study=lambda at: at.new("study"),
    answers="3",
    completion_code="C0DE",
    screen_out_code="0UT",
)
get("control_item_list", RUNNERS, "review", kind=q.COREF_LINK, purpose="control", before=10**6)
post("operation", RUNNERS, "import_controls", campaign="review", file=KNOWN.encode())
post("operation", RUNNERS, "promote_answers", campaign="review", kind=q.COREF_LINK, at_least="3")
post("operation", RUNNERS, "add_controls_from_layer", campaign="quay", layer="import")


def _split_not_asked_about(at: At) -> str:
    """Return a split of the corpus quay with an image in no campaign."""
    corpus = Corpus.objects.get(name="quay")
    key = at.new("further")
    image = Image.objects.create(
        corpus=corpus, position=corpus.images.count(), key=key, filename=f"{key}.png", split="further"
    )
    for number in range(5):
        Caption.objects.create(image=image, number=number, text=f"Boat {number} lies at a quay .")
    return "further"


post("operation", RUNNERS, "add_controls_from_captions", campaign="graded", split=_split_not_asked_about)
get("new_control_item", RUNNERS, "review", image="man", kind=lambda at: at.choice(*q.QUESTIONS))
post(
    "new_control_item",
    RUNNERS,
    "review",
    image="man",
    kind=q.BOX_QUALITY,
    mention=[HAT],
    pending="30, 10, 60, 30",
    known="good",
    purpose="qualification",
    explanation="=x",
)


@by("operation", "retire_control_item", RUNNERS)
def retired(at: At) -> Call:
    item = Control.objects.filter(campaign__name="tested", active=True).values_list("pk", flat=True)
    fields = [("campaign", "tested"), ("item", str(item.order_by("-pk").first() or 1))]
    address = reverse("operation", args=["retire_control_item"])
    return Call("POST", address, fields=[*fields, ("incorrect", at.choice("true", "false"))])


get("texts", RUNNERS, _campaign)
get("text", RUNNERS, "quay", lambda at: at.choice("consent", q.COREF_LINK))
post(
    "operation",
    RUNNERS,
    "publish_text",
    campaign="quay",
    kind="consent",
    text=lambda at: at.new("You agree."),
    base_version=_text("consent"),
)
get("jobs", RUNNERS, "quay")
_EXPORT = {"format": "jsonl", "unfinished": "include", "pictures": "true", "simulated": "true"}
post("operation", RUNNERS, "export_dataset", corpus="quay", layer="import", **_EXPORT)
post("operation", RUNNERS, "export_campaign", campaign="quay", **_EXPORT)
post("operation", RUNNERS, "export_bundle", campaign="quay", simulated="true")
post("operation", RUNNERS, "publish_captions", campaign="captions", name=lambda at: at.new("described"))
post("operation", RUNNERS, "refresh_layer", campaign="quay")


def _draft_campaign(at: At) -> str:
    """Return a campaign in the state draft, though the opening of its images was requested: that job was
    cancelled."""
    campaign = campaigns.create_campaign(name=at.new("waits"), corpus="quay", tasks="entities")
    form_data: dict[str, Any] = {"split": None, "images": 1, "tags": []}
    Job.objects.create(kind="open_images", campaign=campaign, arguments=form_data, state=Job.CANCELLED)
    return campaign.name


post("operation", RUNNERS, "open_draft", campaign=_draft_campaign)
get("operation_file", RUNNERS, "download_export", job=_job(Job.DONE))
get("operation_layout", SIGNED_IN, "dataset_stats", _job(Job.DONE), lambda at: at.choice("csv", "latex", "x"))

# Evaluation ------------------------------------------------------------------------------------

SYSTEM, RUN, OTHER_RUN = "good", "good-annotation", "bad-annotation"
FORM_OF_BATCH: dict[str, Any] = {"chosen": "1", "corpus": "quay", "tasks": "relevance", "depth": "2"} | {
    "threshold": "",
    "judges": "3",
    "campaign_settings": SETTINGS,
}
FORM_OF_REPORT: dict[str, Any] = {"qrels": "own", "measures": "MRR, R@1", "seed": "1", "rounds": "50"} | {
    "resamples": "20",
    "against": "",
    "batch": "",
    "split": "",
    "missing": "worst",
}

get("evaluation:systems", RUNNERS, find="go", sort="origin", down=1, after="trained,1", archived="")
for _what, _which in (("run", RUN), ("batch", "batch")):
    _archived: dict[str, Any] = {_what: _which, "archived": lambda at: at.choice("true", "false")}
    post("operation", RUNNERS, f"archive_{_what}", **_archived)
get("evaluation:system", RUNNERS, SYSTEM)


def _system_for(predicts: str) -> Callable[[At], str]:
    """Return a system whose recipe predicts this, without training."""

    def find(at: At) -> str:
        row = System.objects.get(name=SYSTEM)
        method = next(name for name, entry in METHODS.items() if entry.predicts == predicts)
        row.pk, row.name, row.settings = None, at.new("system"), {"recipe": {"method": method}}
        row.save()
        return row.name

    return find


WRITTEN = "written"
get("evaluation:captions", RUNNERS, WRITTEN)


EXISTS = "found"
get("evaluation:localizations", RUNNERS, EXISTS, show="far", layer="gold")


TAGGED = "tagged"
get("evaluation:tags", RUNNERS, TAGGED)


get("evaluation:train", RUNNERS, corpus="quay")
get("evaluation:evaluate", RUNNERS, corpus="quay")
post(
    "evaluation:train",
    RUNNERS,
    name=lambda at: at.new("system"),
    recipe=sorted(TABLE_11)[0],
    corpus="quay",
    train="train",
    held_out="val",
    seed="1",
)
get("evaluation:bring", RUNNERS)
get("evaluation:features", RUNNERS)


get("evaluation:weak_collections", RUNNERS)


@by("evaluation:bring", "scores", RUNNERS)
def scores(at: At) -> Call:
    fields = [("act", "add_system"), ("name", at.new("s")), ("corpus", "quay"), ("format", "scores")]
    ids = [f"scene-{n}.png" for n in range(IMAGES)]
    files = [("file", 'filename="x.npy"', numbers(IMAGES, IMAGES))]
    for side, held in (("images", ids), ("captions", [f"{item}#0" for item in ids])):
        files.append(("ids", f'filename="x.{side}.txt"', "\n".join(held).encode()))
    return Call("POST", reverse("evaluation:bring"), fields=fields, files=files)


@by("evaluation:bring", "runs", RUNNERS)
def runs_uploaded(at: At) -> Call:
    fields = [("act", "import_run"), ("name", at.new("s")), ("corpus", "quay")]
    files = [("file", 'filename="x.trec"', TREC.encode())]
    return Call("POST", reverse("evaluation:bring"), fields=fields, files=files)


@by("evaluation:bring", "captions", RUNNERS)
def captions_uploaded(at: At) -> Call:
    fields = [("act", "import_captions"), ("name", at.new("c")), ("corpus", "quay"), ("system", "")]
    files = [("file", 'filename="x.csv"', b"image,caption\nscene-1.png,a dog\n")]
    return Call("POST", reverse("evaluation:bring"), fields=fields, files=files)


@by("evaluation:bring", "tags", RUNNERS)
def tags_uploaded(at: At) -> Call:
    fields = [("act", "import_tags"), ("name", at.new("t")), ("corpus", "quay"), ("system", "")]
    files = [("file", 'filename="x.csv"', b"image,tag,score\nscene-1.png,dog,0.5\n")]
    return Call("POST", reverse("evaluation:bring"), fields=fields, files=files)


@by("evaluation:bring", "localizations", RUNNERS)
def localizations_uploaded(at: At) -> Call:
    fields = [
        ("act", "import_localizations"),
        ("name", at.new("l")),
        ("corpus", "quay"),
        ("system", ""),
        ("split", ""),
    ]
    files = [("file", 'filename="x.jsonl"', LOCALIZED.encode())]
    return Call("POST", reverse("evaluation:bring"), fields=fields, files=files)


get(
    "evaluation:runs",
    RUNNERS,
    corpus="quay",
    find="good",
    sort="queries",
    down=1,
    after="6,1",
    direction="search",
)
get("evaluation:run", RUNNERS, RUN, qrels="own:1", split="1/3", missing=lambda at: at.choice("worst", ""))
get("evaluation:run", RUNNERS, RUN, called="each query", qrels="own", as_="queries-csv")
get("operation_file", RUNNERS, "export_run", run=RUN, ties=lambda at: at.choice("keep", "break"))
post("operation", RUNNERS, "remove_run", run="spare-annotation")
get("evaluation:queries", RUNNERS, RUN, qrels="own", order="difference", with_=OTHER_RUN)


get("evaluation:qrels_list", RUNNERS, before=10**6)
get("evaluation:qrels", RUNNERS, "own:1")
get("evaluation:freeze_qrels", RUNNERS, corpus="quay")
FORM_OF_QRELS: dict[str, Any] = {"name": lambda at: at.new("q"), "corpus": "quay", "fold_seed": "1"}
post(
    "evaluation:freeze_qrels",
    RUNNERS,
    act="protocol",
    protocol="one caption",
    caption="1",
    split=lambda at: at.choice("", "test", "1/3", f"run:{RUN}"),
    **FORM_OF_QRELS,
)
post(
    "evaluation:freeze_qrels",
    RUNNERS,
    act="judgments",
    judgments="graded",
    relevant_from="3",
    gains=lambda at: at.choice("linear", "exponential"),
    summary=lambda at: at.choice("mean", "median"),
    scale="0-5",
    originals="true",
    **FORM_OF_QRELS,
)


@by("evaluation:freeze_qrels", "by a file", RUNNERS)
def frozen_by_a_file(at: At) -> Call:
    fields = [("act", "protocol"), ("name", at.new("q")), ("corpus", "quay"), ("protocol", "any of five")]
    files = [("images", 'filename="te.txt"', b"scene-2.png\nscene-5.png\n")]
    return Call("POST", reverse("evaluation:freeze_qrels"), fields=fields, files=files)


get("evaluation:import_qrels", RUNNERS)


@by("evaluation:import_qrels", "qrels", RUNNERS)
def qrels_imported(at: At) -> Call:
    fields = [("act", "import_qrels"), ("name", at.new("q")), ("corpus", "quay"), ("format", "trec")]
    fields += [("asks", at.choice("", "image", "both")), ("level", "1"), ("leave_unused", "1")]
    files = [("file", 'filename="x.qrels"', b"scene-2.png 0 scene-2.png#0 1\n")]
    return Call("POST", reverse("evaluation:import_qrels"), fields=fields, files=files)


@by("evaluation:import_qrels", "judgments", RUNNERS)
def judgments_imported(at: At) -> Call:
    fields = [("act", "import_judgments"), ("name", at.new("j")), ("corpus", "quay"), ("format", "table")]
    fields += [("scale", "0-5"), ("leave_unused", "1"), ("repeats", "1")]
    return Call("POST", reverse("evaluation:import_qrels"), fields=fields, files=[("file", GRADES, TABLE)])


@by("evaluation:query", "seen", RUNNERS)
def query(at: At) -> Call:
    image = Image.objects.filter(corpus__name="quay").order_by("pk")[0].pk
    address = reverse("evaluation:query", args=[RUN, image])
    return Call("GET", address, [("qrels", "own"), ("with", OTHER_RUN), ("order", "worst")])


@by("evaluation:compare", "seen", RUNNERS)
def compared(at: At) -> Call:
    questions = [
        ("run", RUN),
        ("run", OTHER_RUN),
        ("baseline", OTHER_RUN),
        ("qrels", "own"),
        ("measures", "R@1, MRR"),
    ]
    questions += [("rounds", "10000"), ("direction", "annotation")]
    questions += [
        ("as", at.choice("", "csv", "latex", "json", "queries-json")),
        ("split", at.choice("", "1/3")),
    ]
    return Call("GET", reverse("evaluation:compare"), questions)


get("evaluation:batches", RUNNERS, find="ba", sort="depth", down=1, after="3,1", state="open", archived="")
get("evaluation:new_batch", RUNNERS, runs=RUN, **FORM_OF_BATCH)
post("evaluation:new_batch", RUNNERS, name=lambda at: at.new("b"), runs=[RUN, OTHER_RUN], **FORM_OF_BATCH)
get("evaluation:batch", RUNNERS, "batch", fresh=lambda at: at.choice(1, 0))
get("evaluation:reports", RUNNERS, find="sp", sort="name", down=1, after="spring,1", archived="1")
get("evaluation:new_report", RUNNERS, runs=RUN, **FORM_OF_REPORT)
post(
    "evaluation:new_report",
    RUNNERS,
    name=lambda at: at.new("r"),
    runs=[RUN, OTHER_RUN],
    baseline=OTHER_RUN,
    **FORM_OF_REPORT,
)
get("evaluation:report", RUNNERS, "spring")
get(
    "evaluation:report_file",
    RUNNERS,
    "spring",
    lambda at: at.choice("report.html", "report.json", "SHA256SUMS"),
)


# Roles, the first account, invitations of staff


def _of_staff(at: At) -> str:
    """Return a new staff invitation link."""
    return inviting.staff_invitation_token(
        inviting.invite_staff(email=f"{at.new()}@example.org", role=RESEARCHER)
    )


def _draft(at: At) -> str:
    """Return a campaign without workers."""
    corpus = Campaign.objects.get(name="quay").corpus.name
    return campaigns.create_campaign(name=at.new("empty"), corpus=corpus, tasks="captions").name


post("operation", RUNNERS, "delete_campaign", campaign=_draft, next="/campaigns/")
post("operation", RUNNERS, "set_open_to_all", campaign="quay", open_to_all="true")
get("roles", (ADMIN,))


def _somebody_there(at: At) -> int:
    """Return an account with an e-mail address and a second factor."""
    name = at.new("there")
    account = Account.objects.create_user(name, password=web.PASSWORD, email=f"{name}@example.org")
    _give_factor(account)
    return account.pk


get("people", (ADMIN,), find="a", who="everybody", state=lambda at: at.choice("", "active", "deactivated"))
get("person", (ADMIN,), _somebody_there)
get("audit", (ADMIN,), group=lambda at: at.choice("people", "tokens", ""), account="admin", campaign="quay")
get("staff_invite", ALL, _of_staff)
post(
    "staff_invite",
    (STRANGER,),
    _of_staff,
    username=lambda at: at.new("staff"),
    password1=PASSWORD["new_password1"],
    password2=PASSWORD["new_password1"],
)
# There is an account already, so this page does not exist: it must not raise an error.
get("first_account", (), "guessed")
post("first_account", (), "guessed", username="eve", password1=PASSWORD["new_password1"], password2=PASSWORD)


# Corpora by page, and what takes them away.

#: Captions as a file of the format csv.
CAPTIONS = b"image,caption\na.jpg,A dog in the park .\n"


def _upload(at: At, received: bytes = CAPTIONS) -> uploads.Upload:
    """Return an upload of the caller, with received data of its file."""
    for old in uploads.uploads_of(at.account):
        uploads.remove_upload(old)
    files = [("captions.csv", len(CAPTIONS))]
    upload = uploads.begin_upload(account=at.account, name=at.new("upload"), files=files)
    if received:
        upload.file_path(0).write_bytes(received)
    return upload


def _checked(at: At) -> uploads.Upload:
    """Return a checked upload."""
    upload = _upload(at)
    job = Job.objects.create(
        kind="check_upload",
        created_by=at.account,
        state=Job.RUNNING,
        arguments={"upload": upload.key},
    )
    request = corpus_uploads.CheckUploadRequest(upload=upload.key)
    result = result_to_dict(corpus_uploads.check(request, OperationContext(at.account)))
    Job.objects.filter(pk=job.pk).update(state=Job.DONE, result=result)
    return upload


get("uploads", RUNNERS)


get("upload", RUNNERS, lambda at: _checked(at).key)
get("operation_file", RUNNERS, "download_upload_problems", upload=lambda at: _checked(at).key)


@by("upload_preview", "seen", RUNNERS)
def preview_seen(at: At) -> Call:
    upload = _checked(at)
    preview_picture(upload, 0).parent.mkdir(exist_ok=True)
    preview_picture(upload, 0).write_bytes(b"\xff\xd8\xff")
    return Call("GET", reverse("upload_preview", args=[upload.key, 0]))


post("operation", RUNNERS, "check_upload", upload=lambda at: _upload(at).key, format="csv")
post("operation", RUNNERS, "import_upload", upload=lambda at: _checked(at).key, skip_problems="true")
post("operation", RUNNERS, "remove_upload", upload=lambda at: _upload(at).key)
get("manage_corpus", RUNNERS, "quay", image="scene-1")
get("withdraw_picture", RUNNERS, "quay", image="scene-1")


@by("operation", "withdraw_picture", RUNNERS)
def picture_withdrawn(at: At) -> Call:
    name = _spare_corpus(at)
    address = reverse("operation", args=["withdraw_picture"])
    return Call("POST", address, fields=[("corpus", name), ("image", "a"), ("sure", "on")])


get("phrases", RUNNERS, "quay", "scene-1")


@by("operation", "mark_phrases", RUNNERS)
def phrases_marked(at: At) -> Call:
    name = _spare_corpus(at)
    image = Image.objects.get(corpus__name=name)
    Caption.objects.create(image=image, number=0, text="A boat at a quay .")
    payload = at.choice("0:0-2", "0:0-2 0:3-5", "", "0:0-9", "quay")
    fields = [("corpus", name), ("image", "a"), ("phrases", payload)]
    return Call("POST", reverse("operation", args=["mark_phrases"]), fields=fields)


post("operation", RUNNERS, "drop_phrase_marks", corpus="quay", image="scene-1")


post("operation", RUNNERS, "set_licence", corpus="quay", licence="CC BY 4.0")


@by("operation", "delete_corpus", RUNNERS)
def corpus_deleted(at: At) -> Call:
    name = _spare_corpus(at)
    return Call("POST", reverse("operation", args=["delete_corpus"]), fields=[("corpus", name)])


def _spare_corpus(at: At) -> str:
    """Return a corpus of one image, with a picture of its own, that nothing uses."""
    corpus = Corpus.objects.create(name=at.new("spare"), format="csv", source="x", published=True)
    file = Path(settings.DATA_DIR) / "work" / "spare.png"
    file.parent.mkdir(parents=True, exist_ok=True)
    Pillow.frombytes("RGB", (4, 4), at.rng.randbytes(48)).save(file)
    picture = stored_picture(file).name
    Image.objects.create(corpus=corpus, position=0, key="a", filename="a.png", picture=picture)
    return corpus.name


# Tokens of programs


def _code(at: At) -> str:
    """Return the current code of the caller's app, while it is being set up in their session."""
    at.client.get(reverse("set_up_second_factor"))
    seen = at.client.session.get("factor_begun", "")
    try:
        return pyotp.TOTP(second_factor.begin_second_factor(at.account, seen=seen)).now()
    except PhraseboxError:
        return "123456"


# Without another server (OIDC_ISSUER) there is nobody to connect: tests/web/test_oidc.py has one.
post("oidc_sign_in", (), next="/tasks/")
get("openid_connect_callback", (), "oidc-x", code="x", state="y")
post("connect_oidc", ())
post("disconnect_oidc", SIGNED_IN)
get("set_up_second_factor", SIGNED_IN)
post("set_up_second_factor", SIGNED_IN, code=_code)


def _factor_of_caller(at: At) -> None:
    """Give the caller a second factor."""
    if not second_factor.has_second_factor(at.account):
        _give_factor(at.account)


@by("renew_recovery_codes", "sent", SIGNED_IN)
def codes_renewed(at: At) -> Call:
    _factor_of_caller(at)
    return Call("POST", reverse("renew_recovery_codes"))


@by("remove_second_factor", "sent", SIGNED_IN)
def factor_removed(at: At) -> Call:
    _factor_of_caller(at)
    return Call("POST", reverse("remove_second_factor"))


get("own_tokens", READERS)


def _webhook(at: At) -> Webhook:
    """Return a webhook of the whole server."""
    owner = Account.objects.get(username=RESEARCHER)
    return Webhook.objects.create(
        name=at.new("hook"),
        address="https://hooks.example.org/",
        events=list(hooks.EVENTS),
        salt=at.new(),
        owner=owner,
    )


def _hook(at: At) -> int:
    return _webhook(at).pk


get("notifications", RUNNERS)
get("webhook", RUNNERS, _hook)
get("server", (ADMIN,), state="failed")
