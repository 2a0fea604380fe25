"""Every route requested with each role: for the whole server, for its own corpus and campaign, and for
others.

The expected results are read from the table in docs/roles.md, which contains every route once, and for calls
of declared operations from their declarations.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotation.api.rest.endpoints import ROUTE_PREFIX, endpoints
from annotation.common.operations import OperationContext, all_operations
from annotation.common.roles import ADMIN, ANNOTATOR, RESEARCHER, REVIEWER, ROLES
from annotation.datasets.tags import save_tags
from annotation.models import (
    Campaign,
    Corpus,
    ErrorSample,
    Flag,
    Invitation,
    Job,
    Ruling,
    Webhook,
    WebhookDelivery,
)
from annotation.operations.table import OperationsRequest, operation_table
from annotation.protocol import questions as q
from annotation.protocol.contents import ruling_json
from annotation.protocol.rulings import Closure
from annotation.workers import invitations, sessions
from annotation.workers.accounts import granting
from evaluation.models import (
    Batch,
    CaptionSet,
    JudgmentSet,
    LocalizationSet,
    QrelsSnapshot,
    Report,
    Run,
    System,
    TagSet,
)
from tests import worlds
from tests.factories import a_corpus, some_images
from tests.review.world import HAT, image, report, the_world
from tests.sizes import THOROUGH
from tests.web import world as people

pytestmark = pytest.mark.django_db
TABLE = Path(__file__).resolve().parents[2] / "docs" / "roles.md"
OPEN, FORBIDDEN, MISSING, SIGN_IN = "open", "refused", "not there", "sign in"
#: Scopes of grants: of the whole server, of the requested objects, of others.
SERVER, CORPUS, CAMPAIGN, SECOND, OTHER_CORPUS, OTHER_CAMPAIGN = (
    *("the server", "the corpus", "the campaign", "another campaign of the corpus"),
    *("another corpus", "another corpus's campaign"),
)
SCOPES = (SERVER, CORPUS, CAMPAIGN, SECOND, OTHER_CORPUS, OTHER_CAMPAIGN)


class Row(NamedTuple):
    """A line of the table: the permitted roles, and their scope."""

    roles: tuple[str, ...]
    on: str


def table() -> dict[str, Row]:
    """Return the table, by route, with the method first except for GET."""
    by_name: dict[str, Row] = {}
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and "`" in cells[3]:
            roles = tuple(role for role in cells[1].split(", ") if role in ROLES)
            for route in re.findall(r"`([^`]+)`", cells[3]):
                assert route not in by_name, f"{route} stands twice in the table"
                by_name[route] = Row(roles, cells[2].partition(" (")[0] if roles else cells[1])
    return by_name | declared_rows()


def declared_rows() -> dict[str, Row]:
    """Return a row for each call of a declared operation; objects named in a body are not looked up before it
    is read."""
    by_name = {}
    rows = operation_table(OperationsRequest(), OperationContext()).operations
    scopes = {operation.name: operation.scope for operation in rows}
    for operation in all_operations():
        if (rest := operation.rest) is None:
            continue
        method = "" if rest.method == "GET" else f"{rest.method} "
        permission, scope = operation.permission, scopes[operation.name]
        if permission.on and f":{permission.on}>" not in rest.path:
            scope = "a corpus" if permission.corpora else "anything"
        route = f"{method}{ROUTE_PREFIX}{rest.route or operation.name}"
        by_name[route] = Row(permission.roles, scope if permission.roles else "signed in")
    return by_name


ROWS = table()


def routes(resolver: URLResolver | None = None, space: str = "") -> Iterator[str]:
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, space + (f"{pattern.namespace}:" if pattern.namespace else ""))
        else:
            assert isinstance(pattern, URLPattern)
            yield space + (pattern.name or pattern.callback.__name__)


def name_of(route: str) -> str:
    """Return the name of a route of the table, without its method."""
    return route.rpartition(" ")[2]


def test_every_route_stands_in_the_table():
    assert {name_of(route) for route in ROWS} == set(routes())


def test_every_operation_of_the_api_stands_in_the_table():
    message = {route for route in ROWS if name_of(route).startswith("v1_")} - {
        *("v1_openapi", "v1_docs", "api_nothing"),
    }
    methods = ((endpoint.rest.method, f"{ROUTE_PREFIX}{endpoint.route}") for endpoint in endpoints())
    assert message == {name if method == "GET" else f"{method} {name}" for method, name in methods}


class Arguments(NamedTuple):
    """The arguments of addresses, by route."""

    of: dict[str, list[Any]]

    def address(self, route: str, **instead: Any) -> str:
        if name_of(route) == "api_nothing":
            return "/api/v1/nothing"
        return reverse(name_of(route), args=instead.get("args", self.of.get(name_of(route), [])))


@pytest.fixture
def world(db: None) -> dict[str, Any]:
    """A campaign with every object that an address can name, and a corpus of another user."""
    created = worlds.again("everything that an address can name", built)
    Campaign.objects.update(open_to_all=False)
    return created


def built() -> dict[str, Any]:
    world = the_world(name="q-review")
    report(world, q.COREF_LINK)
    row = image(world)
    Ruling.objects.create(image=row, content=ruling_json(Closure((HAT,), "none")))
    invitations.make_invitation(campaign=world.campaign)
    another = a_corpus("other", some_images(1))
    reference = world.campaign.settings
    Campaign.objects.create(name="apart", corpus=another, tasks="entities", settings=reference, state="open")
    Campaign.objects.create(
        name="second", corpus=world.corpus, tasks="entities", settings=reference, state="open"
    )
    system = System.objects.create(corpus=world.corpus, name="q-system", origin="runs")
    CaptionSet.objects.create(corpus=world.corpus, name="q-captions", made_by=system, published=True)
    LocalizationSet.objects.create(corpus=world.corpus, name="q-found", made_by=system, published=True)
    TagSet.objects.create(corpus=world.corpus, name="q-tags", made_by=system, published=True)
    JudgmentSet.objects.create(
        corpus=world.corpus, name="q-judgments", format="table", source="x", published=True
    )
    Run.objects.create(
        corpus=world.corpus,
        name="q-run",
        direction="search",
        system="q-system",
        published=True,
        made_by=system,
    )
    qrels = QrelsSnapshot.objects.create(
        corpus=world.corpus,
        name="q-qrels",
        version=1,
        pool="test",
        originals=False,
        row_count=0,
        published=True,
    )
    about = {"campaign": world.campaign, "depth": 1, "judges": 3, "seed": 1, "numbers": {"selected": 0}}
    Batch.objects.create(corpus=world.corpus, name="q-batch", **about)
    Report.objects.create(corpus=world.corpus, name="q-report", qrels=qrels, inputs={}, files={})
    export = Job.objects.create(
        kind="export_dataset", campaign=world.campaign, arguments={"layer": world.campaign.name}, state="done"
    )
    Job.objects.create(kind="rank", corpus=world.corpus, state="done")
    save_tags(corpus=world.corpus, images=[("man", [("dog", 1.0)])], unit="nouns", alpha=0.5)
    hook = Webhook.objects.create(
        name="q-hook", address="https://hooks.example.org/", events=[], salt="q", campaign=world.campaign
    )
    at = {"created_at": timezone.now(), "begun_at": timezone.now()}
    WebhookDelivery.objects.create(webhook=hook, message="q", event="x", body="{}", **at)
    name = world.campaign.name
    people.perform("draw_error_sample", corpus=world.corpus.name, layer="import", size=1)
    sample = ErrorSample.objects.get().pk
    held = world.held(1)
    kind = q.COREF_LINK
    return {
        "corpus": world.corpus,
        "campaign": world.campaign,
        "arguments": Arguments(
            {
                "corpus": [world.corpus.name],
                "documentation": ["index.html"],
                "operation": ["pause_campaign"],
                "operation_file": ["export_ledger"],
                "operation_layout": ["dataset_stats", 1, "csv"],
                "operation_tables": ["list_outdated_copies", "csv"],
                "error_samples": [world.corpus.name],
                "error_sample_next": [world.corpus.name, sample],
                "sampled_mention": [world.corpus.name, sample, 1],
                **{route: [world.corpus.name] for route in ("manage_corpus", "withdraw_picture")},
                "upload": ["0" * 32],
                "upload_preview": ["0" * 32, 0],
                # Nobody's: a draft is visible only to the user who began it.
                **{route: [0] for route in ("draft_settings", "delete_draft")},
                "draft_step": [0, "corpus"],
                **{route: [0, kind] for route in ("mark_items", "mark_boxes", "preview_task")},
                "image": [world.corpus.name, "man"],
                "phrases": [world.corpus.name, "man"],
                "tags": [world.corpus.name],
                "export_tags": [world.corpus.name, "csv"],
                **{
                    route: [name]
                    for route in (
                        *(
                            "campaign",
                            "campaign_settings",
                            "change_settings",
                            "image_order",
                            "review",
                            "answers",
                            "phrase_rules",
                            "workers",
                            "entry",
                        ),
                        "control_item_list",
                        *("new_control_item", "texts", "jobs", "task_consent", "task_country", "api_consent"),
                        *("payments", "dashboard"),
                        "model_annotators",
                    )
                },
                "review_image": [name, "man"],
                "rule": [name, "man"],
                "mend_image": [name, "man"],
                "worker": [name, "q-review-w0"],
                "person": [1],
                "webhook": [hook.pk],
                "text": [name, "consent"],
                **{
                    route: [name, kind]
                    for route in ("task", "task_instructions", "task_practice", "task_test", "task_answers")
                },
                "task_answer_again": [name, kind, held.id],
                **{f"api_{act}": [held.id] for act in ("answer", "change", "return", "heartbeat")},
                "evaluation:system": ["q-system"],
                "evaluation:localizations": ["q-found"],
                "evaluation:captions": ["q-captions"],
                "evaluation:tags": ["q-tags"],
                **{f"evaluation:{route}": ["q-run"] for route in ("run", "queries")},
                "evaluation:query": ["q-run", 1],
                "evaluation:qrels": ["q-qrels"],
                "evaluation:batch": ["q-batch"],
                "evaluation:report": ["q-report"],
                "evaluation:report_file": ["q-report", "report.html"],
                **_places_of_the_api(world, name, export.pk),
            }
        ),
        "worker": world.workers[0],
    }


def _places_of_the_api(world: Any, campaign: str, job: int) -> dict[str, list[Any]]:
    """Return the arguments of the REST API's addresses, by route."""
    corpus, worker, flag, ruling = world.corpus.name, "q-review-w0", Flag.objects.get(), Ruling.objects.get()
    line = WebhookDelivery.objects.get()
    assert get_resolver().url_patterns  # operations are registered once their modules are imported
    things = {
        "corpora/": [corpus],
        "campaigns/": [campaign],
        "systems/": ["q-system"],
        "runs/": ["q-run"],
        "qrels/": ["q-qrels"],
        "judgment-sets/": ["q-judgments"],
        "batches/": ["q-batch"],
        "reports/": ["q-report"],
        "caption-sets/": ["q-captions"],
        "localization-sets/": ["q-found"],
        "tag-sets/": ["q-tags"],
        "uploads/": ["0" * 32],
        "weak-collections/": ["nothing"],
        "jobs/": [job],
        "tokens/": [1],
        "people/": ["ada"],
        "me/messages/": [1],
        "webhooks/": [line.webhook_id],
        "alarm-subscriptions/": [1],
        "features/": [corpus],
    }
    more: dict[str, Any] = {"<str:key>": "man", "<str:image>": "man", "<str:worker>": worker}
    more |= {"<slug:layer>": campaign, "<str:set>": "q-features"}
    more |= {"<int:invitation>": Invitation.objects.get().pk, "<int:item>": 1, "<int:delivery>": line.pk}
    more |= {"<int:flag>": flag.pk, "<int:ruling>": ruling.pk, "<int:payment>": 1, "<int:bonus>": 1}
    more |= {"<int:sample>": ErrorSample.objects.get().pk, "<int:mention>": 1}
    more |= {"<slug:model_annotator>": "nobody", "files/<int:number>": 0, "<int:query>": 1}
    by_name = {}
    for endpoint in endpoints():
        path = endpoint.rest.path
        first = next((held for start, held in things.items() if path.startswith(f"{start}<")), [])
        by_name[f"{ROUTE_PREFIX}{endpoint.route}"] = [
            *first,
            *(value for index, value in more.items() if index in endpoint.rest.path),
        ]
    return by_name


def visitor(role: str, scope: str, world: dict[str, Any]) -> Client:
    """Return a client with only one role for a scope."""
    account = people.account(f"{role}-{scope.replace(' ', '-')}")
    target: dict[str, Any] = {
        SERVER: {},
        CORPUS: {"corpus": world["corpus"]},
        CAMPAIGN: {"campaign": world["campaign"]},
        SECOND: {"campaign": Campaign.objects.get(name="second")},
        OTHER_CORPUS: {"corpus": Corpus.objects.get(name="other")},
        OTHER_CAMPAIGN: {"campaign": Campaign.objects.get(name="apart")},
    }[scope]
    granting.grant(account=account, role=role, **target)
    # A failure because of missing rows means that access was granted.
    client = Client(raise_request_exception=False)
    client.force_login(account)
    return people.confirm(client)


@functools.cache
def form_calls() -> set[str]:
    """Return the calls that accept only files, which need a form."""
    calls = (endpoint for endpoint in endpoints() if endpoint.uploads and not endpoint.takes_json)
    return {f"{endpoint.rest.method} {ROUTE_PREFIX}{endpoint.route}" for endpoint in calls}


def tried(client: Client, route: str, world: dict[str, Any]) -> Any:
    """Return the response of a route; undo its effects."""
    with transaction.atomic():
        address = world["arguments"].address(route)
        if route in form_calls():
            answer = client.post(address)
        elif name_of(route).startswith(("api_", ROUTE_PREFIX)):
            form_data = {"campaign": world["campaign"].name, "kind": q.COREF_LINK}
            body = json.dumps({"version": 1} if name_of(route) == "api_consent" else form_data)
            method = route.rpartition(" ")[0]
            answer = (
                client.generic(method, address, body, content_type="application/json")
                if method
                else client.get(address)
            )
        else:
            answer = client.post(address) if route.startswith("POST ") else client.get(address)
        transaction.set_rollback(True)
    return answer


#: Messages that an object in the address is missing, or not accessible.
NOT_THERE = re.compile(
    r"There (is no (campaign|corpus|system|run|batch|report|set of qrels|set of judgments|job|webhook"
    r"|(caption|localization|tag) set)"
    r"|are no qrels) \S+( here)?[.;]"
)


def text_of(answer: Any) -> str:
    """Return the text of a response."""
    if answer.headers.get("Content-Type") == "application/problem+json":
        return str(json.loads(answer.content)["detail"])
    return str(answer.content.decode())


def outcome(answer: Any, route: str) -> str:
    """Return how a route responded: as to permitted users, or which refusal."""
    if answer.status_code == 401 or (
        answer.status_code == 302 and answer["Location"].startswith(reverse("sign_in"))
    ):
        return SIGN_IN
    if answer.status_code == 403:
        return FORBIDDEN
    # Objects looked up within an accessible object may be missing too.
    if answer.status_code == 404 and NOT_THERE.search(text_of(answer)):
        return MISSING
    return OPEN


def covers(scope: str, on: str) -> bool:
    """Return whether a role for `scope` applies to the table's scope `on`, for the requested objects."""
    match on:
        case "anything":
            return True
        case "a corpus":
            return scope in (SERVER, CORPUS, OTHER_CORPUS)
        case "the whole server":
            return scope == SERVER
        case "the corpus":
            return scope in (SERVER, CORPUS)
        case "the campaign":
            return scope in (SERVER, CORPUS, CAMPAIGN)
    raise AssertionError(f"docs/roles.md: nothing is called {on!r}")


def expected(row: Row, role: str, scope: str) -> set[str]:
    """Return the permitted responses of a route to a user with only `role` for `scope`."""
    held = role in (*row.roles, ADMIN) and covers(scope, row.on)
    return {OPEN} if held else {FORBIDDEN, MISSING}


WORK = [route for route, row in ROWS.items() if row == Row((ANNOTATOR,), "the campaign")]


#: The routes of staff, and those open to every annotator.
STAFF = [route for route, row in ROWS.items() if row.roles and route not in WORK]


def outcomes(client: Client, chosen: Iterable[str], world: dict[str, Any]) -> dict[str, str]:
    return {route: outcome(tried(client, route, world), route) for route in chosen}


#: Each role with two scopes, and each scope with one role; the thorough run has the other pairs.
USUAL = (
    (RESEARCHER, CORPUS),
    (REVIEWER, CAMPAIGN),
    (ADMIN, SERVER),
    (ADMIN, SECOND),
    (RESEARCHER, OTHER_CORPUS),
    (REVIEWER, OTHER_CAMPAIGN),
)


def tried_by(role: str, scope: str) -> list[str]:
    """Return the routes of staff that such a visitor requests: by default each route is requested once by a
    permitted user, once with another role, and once with a role for another scope."""
    if THOROUGH:
        return STAFF

    def lets_in(route: str, role: str, scope: str) -> tuple[bool, bool]:
        held = role in (*ROWS[route].roles, ADMIN)
        return held, held and covers(scope, ROWS[route].on)

    def first(route: str) -> tuple[str, str]:
        alike = lets_in(route, role, scope)
        return next(pair for pair in USUAL if lets_in(route, *pair) == alike)

    return [route for route in STAFF if first(route) == (role, scope)]


@pytest.mark.parametrize(
    ("role", "scope"),
    [
        pytest.param(role, scope, marks=() if (role, scope) in USUAL else pytest.mark.slow)
        for role in (REVIEWER, RESEARCHER, ADMIN)
        for scope in SCOPES
    ],
)
def test_staff_get_in_where_the_table_says(world: dict[str, Any], role: str, scope: str):
    result = outcomes(visitor(role, scope, world), tried_by(role, scope), world)
    error = {
        route: (seen, expected(ROWS[route], role, scope))
        for route, seen in result.items()
        if seen not in expected(ROWS[route], role, scope)
    }
    assert error == {}


@pytest.mark.parametrize("scope", SCOPES)
def test_annotators_work_where_a_grant_names_the_campaign(world: dict[str, Any], scope: str):
    client = visitor(ANNOTATOR, scope, world)
    may = scope in (CORPUS, CAMPAIGN)
    assert set(outcomes(client, WORK, world).values()) <= ({OPEN} if may else {MISSING, FORBIDDEN})
    listed = {task["campaign"] for task in client.get("/api/tasks").json()["tasks"]}
    assert (world["campaign"].name in listed) == may
    if scope == CAMPAIGN or THOROUGH:  # whatever the scope of the grant, it gives no access to staff pages
        staff = [route for route in STAFF if ANNOTATOR not in ROWS[route].roles]
        assert set(outcomes(client, staff, world).values()) == {FORBIDDEN}


def test_the_role_for_the_whole_server_opens_campaigns_that_are_open_to_all(world: dict[str, Any]):
    client = visitor(ANNOTATOR, SERVER, world)
    assert client.get("/api/tasks").json()["tasks"] == []
    Campaign.objects.filter(pk=world["campaign"].pk).update(open_to_all=True)
    assert set(outcomes(client, WORK, world).values()) == {OPEN}
    assert {task["campaign"] for task in client.get("/api/tasks").json()["tasks"]} == {world["campaign"].name}


@pytest.mark.parametrize("role", [REVIEWER, RESEARCHER])
def test_staff_who_are_no_annotators_do_not_work(world: dict[str, Any], role: str):
    assert set(outcomes(visitor(role, SERVER, world), WORK, world).values()) == {FORBIDDEN}


def test_who_has_no_role_gets_in_nowhere_and_who_is_signed_out_is_asked_to_sign_in(world: dict[str, Any]):
    guarded = [route for route, row in ROWS.items() if row.roles]
    nobody = Client(raise_request_exception=False)
    assert set(outcomes(nobody, guarded, world).values()) == {SIGN_IN}
    nobody.force_login(people.account("nobody"))
    assert set(outcomes(nobody, guarded, world).values()) == {FORBIDDEN}


def test_who_came_by_a_platforms_address_may_only_work_whatever_the_account_may_do(world: dict[str, Any]):
    """Of the routes that ask for a sign-in those for annotators alone are open; the first page leads to the
    tasks. Those for anybody stay as they are."""
    client = visitor(ADMIN, SERVER, world)
    session = client.session
    session[sessions.VISIT] = 1
    session.save()
    work = {route for route, row in ROWS.items() if row.roles == (ANNOTATOR,)}
    asking = {route for route, row in ROWS.items() if row.roles or row.on.startswith("signed in")}
    response = outcomes(client, asking, world)
    assert {route for route, seen in response.items() if seen == OPEN} == work | {"home"}
    assert {response[route] for route in asking - work - {"home"}} == {FORBIDDEN}
    assert tried(client, "home", world)["Location"] == reverse("tasks")
    assert "This sign-in opens only the tasks" in tried(client, "POST erase_me", world).content.decode()


def test_what_is_not_open_looks_like_what_is_not_there(world: dict[str, Any]):
    """To somebody who holds every role, for other things."""
    client = visitor(RESEARCHER, OTHER_CORPUS, world)
    account = people.Account.objects.get(username="researcher-another-corpus")
    for role in (REVIEWER, ANNOTATOR, ADMIN):
        granting.grant(account=account, role=role, corpus=Corpus.objects.get(name="other"))
    by_name = {}
    for route in ROWS:
        ours = world["arguments"].of.get(name_of(route), [])
        if not ours or not isinstance(ours[0], str) or ROWS[route].on.startswith("signed in"):
            continue
        seen = []
        for name in (ours[0], "y" * len(ours[0])):
            again = world["arguments"].of | {name_of(route): [name, *ours[1:]]}
            answer = tried(client, route, {**world, "arguments": Arguments(again)})
            text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", text_of(answer))
            address = Arguments(again).address(route)
            seen.append((answer.status_code, text.replace(address, "ADDRESS").replace(name, "NAME")))
        # If any corpus is enough, an invalid body is reported first: the same, whatever is named.
        unread = (400,) if ROWS[route].on == "a corpus" else ()
        by_name[route] = seen[0] == seen[1] and seen[0][0] in (403, 404, *unread)
    assert by_name and {route for route, alike in by_name.items() if not alike} == set()


def test_a_page_of_an_operation_is_refused_to_who_lacks_its_roles(db: None):
    """Signed out, and with each role for the whole server that is not the operation's."""
    pages = [page for page in all_operations() if page.page is not None and not page.page.route]
    clients = {
        role: people.confirm(people.signed_in(role, role)) for role in (ANNOTATOR, REVIEWER, RESEARCHER)
    }
    for page in pages:
        address = reverse("operation", args=[page.name])
        assert outcome(Client().post(address), "operation") == SIGN_IN, page.name
        for role, client in clients.items():
            if page.permission.roles and role not in page.permission.roles:
                assert outcome(client.post(address), "operation") == FORBIDDEN, (page.name, role)
