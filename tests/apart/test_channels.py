"""Responses to a worker's browser are the same for control items as for others: channel by channel.

Each of these channels was open once. `python -m tests.apart` searches for unknown ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.test import Client

from annotation import campaigns, instructions
from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Control,
    Corpus,
    Identity,
    Image,
    Item,
    Judgment,
    PageControl,
    Task,
    TrustState,
    Worker,
)
from annotation.moderation import control_items
from annotation.protocol import questions as q
from annotation.protocol.campaign_settings import settings_of
from annotation.protocol.controls import PooledControl as Known
from annotation.protocol.controls import choose_control
from annotation.protocol.kinds import is_page
from annotation.protocol.paging import Pair
from annotation.protocol.terms import representative
from annotation.quality import controls
from annotation.quality.controls import likeness
from annotation.queue import relevance_pages
from annotation.selectors.workers import own_data
from annotation.selectors.workers.recent_answers import recent_answers
from annotation.task_types.base import TASK_TYPES
from annotation.task_types.caption_writing.rules import CAPTION_WRITING
from annotation.task_types.displayed import displayed_image, displayed_images, name_of
from annotation.task_types.graded_relevance.rules import GRADED_RELEVANCE
from annotation.task_types.region_description.rules import REGION_DESCRIPTION
from annotation.task_types.relevance.rules import RELEVANCE
from tests.apart import features, learner
from tests.api.conftest import Program, annotator
from tests.factories import a_corpus, an_image
from tests.queue.test_leases import known_link
from tests.queue.world import TRUSTING, World
from tests.trust.scenes import crowd_works, scenes

pytestmark = pytest.mark.django_db

UNKNOWN, KNOWN = 24, 30
#: Every other item is a control item, and there is no test.
HALF: dict[str, Any] = {"trust": {**TRUSTING["trust"], "warm_up_items": 2, "warm_up_known": 1}}
PAGE = {"page": {"images": 4, "captions": 6}}


def a_campaign(tasks: str, settings: dict[str, Any], *, item: int = 6) -> Campaign:
    """An open campaign over some images of a corpus; the others are control images, by their captions."""
    numbers = ("one", "two", "three", "four", "five")
    records = [
        an_image(
            f"i{n}",
            *(f"thing{n} {act} {' '.join(numbers[: k + n % 3])} ." for k, act in enumerate(numbers)),
            layered=False,
            split="train" if n < UNKNOWN else "val",
        )
        for n in range(UNKNOWN + KNOWN)
    ]
    a_corpus("quay", records)
    campaign = campaigns.create_campaign(
        name="quay", corpus="quay", tasks=tasks, settings=settings, open_to_all=True
    )
    if campaigns.asks_pairs(tasks):
        pairs = [
            Pair(f"i{n}", f"i{(n + k // 5) % UNKNOWN}#{k % 5}")
            for n in range(UNKNOWN)
            for k in range(item - n % 3)
        ]
        campaigns.open_pairs(campaign=campaign, pairs=pairs)
        controls.from_split(campaign=campaign, split="val", purposes=[Control.CONTROL])
    else:
        campaigns.open_campaign_images(campaign=campaign, split="train")
    campaigns.begin_campaign(campaign=campaign)
    instructions.publish_text(campaign=campaign, kind=instructions.CONSENT, text="")
    campaign.refresh_from_db()
    return campaign


def ann() -> tuple[Program, Worker]:
    account, worker = annotator("ann")
    return Program(account), worker


def a_world() -> tuple[World, Program]:
    """A campaign about chains, and a program of its first worker."""
    world = World(settings=TRUSTING)
    instructions.publish_text(campaign=world.campaign, kind=instructions.CONSENT, text="")
    program, worker = ann()
    world.workers[0] = worker.pk
    return world, program


def offer(program: Program, kind: str) -> dict[str, Any]:
    (line,) = [task for task in program.get("/api/tasks")[1]["tasks"] if task["kind"] == kind]
    return dict(line)


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def items(program: Program, kind: str, answer: dict[str, Any], number: int) -> Iterator[tuple[bool, Any]]:
    """Process a number of items: return whether each is a control item, and all responses about it."""
    for index in range(number):
        before = offer(program, kind)
        task = program.take(kind)
        held = offer(program, kind)
        message = program.answer(task, token=f"t{index}", seconds=0.001, next=False, **answer)[1]
        after = offer(program, kind)
        row = Assignment.objects.get(pk=task["id"])
        yield row.control_id is not None, (changed(before, held), changed(held, after), message)


@pytest.mark.slow  # by default the other channels, in this file
def test_the_list_and_the_receipt_say_the_same_of_control_items_and_others():
    a_campaign("graded", HALF)
    program, _ = ann()
    program.answer(program.take(GRADED_RELEVANCE), answer="4", token="first", next=False)
    message: dict[bool, set[str]] = {True: set(), False: set()}
    for known, reported in items(program, GRADED_RELEVANCE, {"answer": "4"}, 12):
        message[known].add(json.dumps([sorted(t) if isinstance(t, set) else t for t in reported]))
    assert message[True] == message[False] and len(message[True]) == 1
    (only,) = map(json.loads, message[True])
    assert only == [
        ["in_hand"],
        ["in_hand", "items", "today"],
        {"repeated": False, "today": None, "next": None},
    ]


def test_an_answer_that_came_too_late_to_count_is_answered_as_any_other():
    """One on a control item always counts: who is told that theirs did not knows that it was none."""
    world, program = a_world()
    task = program.take()
    Assignment.objects.filter(pk=task["id"]).update(
        expires_at="2020-01-01T00:00:00Z", state="expired", ended_at="2020-01-01T00:00:00Z"
    )
    Task.objects.update(live=0)
    while Task.objects.filter(assignments=task["id"], state=Task.OPEN).exists():
        world.submit(1, world.held(1), then=False)
    message = program.answer(task, answer="no", next=False)[1]
    assert message == {"repeated": False, "today": None, "next": None}


@pytest.mark.parametrize("tasks", ["relevance", "graded", "captions", "regions"])
def test_a_task_about_an_image_does_not_carry_its_captions(tasks: str):
    """One of them among the sentences to be judged would be of a control item: others are drawn for it."""
    campaign = a_campaign(tasks, {**TRUSTING, **PAGE})
    program, _ = ann()
    task = program.take(campaign.kinds[0])
    assert (task["captions"], task["mentions"], task["boxes"]) == ([], [], [])
    text = json.dumps(task)
    assert '"key"' not in text and not any(
        f'"{key}"' in text for key in campaign.corpus.images.values_list("key", flat=True)
    )


def test_a_question_about_phrases_carries_the_captions_that_they_stand_in():
    world, program = a_world()
    task = program.take()
    assert [caption["number"] for caption in task["captions"]] == sorted(
        {m["caption"] for m in task["mentions"]}
    )
    assert len(task["mentions"]) == 2
    world.work([q.COREF_LINK, q.CHAIN_VERIFICATION])
    drawing = program.take(q.BOX_DRAWING)
    assert len(drawing["mentions"]) == len(drawing["captions"]) == 1


def test_an_image_is_told_by_a_name_that_says_nothing_of_its_place():
    campaign = a_campaign("graded", TRUSTING)
    program, worker = ann()
    task = program.take(GRADED_RELEVANCE)
    image = Task.objects.get(assignments=task["id"]).image.image
    assert task["image"]["name"] == name_of(image.pk) == displayed_image(image.pk).name
    names = [
        name_of(image) for image in campaign.corpus.images.order_by("position").values_list("pk", flat=True)
    ]
    assert len(set(names)) == len(names) and names != sorted(names)


def test_boxes_stand_in_an_order_of_their_own_whatever_the_one_they_came_in():
    image = displayed_image(World().images()[0].image_id)
    boxes = [[50, 60, 70, 80], [3, 4, 50, 60], [10, 1, 12, 9]]
    page = TASK_TYPES.get(q.BOX_COVERAGE).page(
        {"mentions": ["0:0-2"], "boxes": boxes, "pending": None}, image
    )
    assert [box.xmin for box in page.boxes] == [3, 10, 50]


def test_a_control_item_comes_only_where_a_task_could_have_come():
    """After "nothing" the next item would else be none of the known ones, and before it one for sure."""
    world = World(settings={"trust": {**TRUSTING["trust"], "warm_up_items": 1, "warm_up_known": 1}})
    known_link(world, world.images()[0].image_id)
    Task.objects.update(live=1)
    assert not hasattr(world.take(0), "id")
    Task.objects.update(live=0)
    assert world.held(0).control is not None


def test_of_control_items_of_one_answer_the_least_strange_comes_first():
    pool = [Known("1", "yes"), Known("2", "yes"), Known("3", "yes"), Known("4", "no")]
    strange = {"1": 2.0, "2": 0.5, "3": 1.0, "4": 0.0}
    for worker in ("w", "x", "y", "z"):
        seen: list[str] = []
        while choice := choose_control(
            pool, seed=1, worker=worker, kind="k", seen=seen, strange=strange.__getitem__
        ).control:
            seen.append(choice.id)
        assert [id for id in seen if id != "4"] == ["2", "3", "1"] and "4" in seen[:2]


def test_control_items_chosen_one_after_another_have_looks_as_often_as_tasks_have():
    """An item most like some task is an ordinary one: these came again and again."""
    rng = np.random.default_rng(7)
    tasks = np.stack([rng.exponential(2, 80), rng.normal(size=80)], axis=1)
    pool = np.stack([rng.uniform(0, 9, 900), rng.uniform(-4, 4, 900)], axis=1)
    chosen: list[int] = []
    for _ in range(60):
        unusual = likeness.unusual_among(pool, list(tasks), [pool[row] for row in chosen])
        unusual[chosen] = np.inf
        chosen.append(int(np.argmin(unusual)))
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        edges = np.quantile(tasks, share, axis=0)
        assert np.mean(pool[chosen] <= edges, axis=0) == pytest.approx([share, share], abs=0.1)


def test_of_a_chain_only_the_phrase_that_is_displayed_belongs_to_its_looks():
    world = World(settings=TRUSTING)
    image = world.images()[0].image_id
    truth = world.truths[image]
    names = max(set(truth.chain_of.values()), key=list(truth.chain_of.values()).count)
    chain = [mention for mention in truth.mentions.values() if truth.chain_of[mention.id] == names]
    alone = {"mentions": [representative(chain).id], "boxes": [[1, 1, 5, 5]], "pending": None}
    of_all = {**alone, "mentions": [mention.id for mention in chain]}
    another = {**alone, "boxes": [[1, 1, 5, 5], [2, 2, 9, 9]]}
    shown = displayed_images([image])
    looks = [likeness.looks(q.BOX_COVERAGE, image, content, shown) for content in (alone, of_all, another)]
    assert len(chain) > 1 and looks[0] == looks[1] != looks[2]


def test_an_image_of_ones_own_test_gives_no_control_item_while_there_are_others():
    world = World(settings={"trust": {**TRUSTING["trust"], "warm_up_items": 1, "warm_up_known": 1}})
    first, second = (image.image_id for image in world.images())
    tested, other_known_link = known_link(world, first), known_link(world, second)
    item = known_link(world, first, purpose=Control.QUALIFICATION)
    Assignment.objects.create(
        campaign=world.campaign,
        worker_id=world.workers[0],
        kind=q.COREF_LINK,
        control=item,
        role="qualification",
        state=Assignment.SUBMITTED,
        leased_at="2026-01-01T00:00:00Z",
        expires_at="2026-01-01T00:00:00Z",
        ended_at="2026-01-01T00:00:00Z",
    )
    seen = controls.Resemblance(
        worker=world.workers[0],
        campaign=world.campaign.pk,
        kind=q.COREF_LINK,
        revision=world.campaign.revision,
    )
    strange = seen.strangeness(image=second, content=other_known_link.content)
    assert strange(str(tested.pk)) > 100 > strange(str(other_known_link.pk))


def sizes_of(task: dict[str, Any]) -> list[int]:
    return [len(block["captions"]) for block in task["blocks"]]


def test_known_images_of_a_page_have_as_many_captions_as_those_of_any_page():
    """They were the only ones with all ten, where fillers ran out; then the only ones that always had as many
    as another one of their page."""
    trust = {**TRUSTING["trust"], "warm_up_items": 60, "warm_up_known": 30}
    campaign = a_campaign("relevance", {**PAGE, "trust": trust})
    program, worker = ann()
    counts = {
        tuple(sorted(len(content["captions"]) for content in task.items.values_list("content", flat=True)))
        for task in Task.objects.all()
    }
    assert {size for page in counts for size in page} == {4, 5, 6}
    mixed = only = unlike = 0
    for index in range(8):
        task = program.take(RELEVANCE)
        row = Assignment.objects.get(pk=task["id"])
        put = list(PageControl.objects.filter(assignment=row).values_list("captions", flat=True))
        sizes = sizes_of(task)
        if row.task_id is None:
            only += 1
            # As many as a page has, and one more: the position of the control image.
            assert any(not Counter(page) - Counter(sizes) and len(sizes) == len(page) + 1 for page in counts)
        else:
            mixed += 1
            beside = [
                len(c["captions"])
                for c in Item.objects.filter(task=row.task_id).values_list("content", flat=True)
            ]
            assert put and sorted([*put, *beside]) == sorted(sizes)
            unlike += not set(put) <= set(beside)
        assert task["image"] == task["blocks"][0]["image"]
        page = relevance_pages.blocks(task["id"], seed=campaign.seed, settings=settings_of(campaign.settings))
        right = [[image == block.image for image, _ in block.captions] for block in page]
        assert program.answer(task, answer="judged", ticked=right, token=f"t{index}", next=False)[0] == 200
    assert mixed and only and unlike
    assert TrustState.objects.get(worker=worker).known >= 6


def test_a_control_image_of_a_page_is_as_large_as_the_image_in_whose_place_it_comes():
    """Chosen to make up for earlier pages, they differed less from these than images of tasks did."""
    campaign = a_campaign("relevance", PAGE)
    for number, row in enumerate(campaign.corpus.images.order_by("pk")):
        Image.objects.filter(pk=row.pk).update(width=(500, 375)[number % 2], height=(375, 500)[number % 2])
    displayed_image.cache_clear()
    likeness._pool.cache_clear()
    campaign.refresh_from_db()
    seen = controls.Resemblance(
        worker=ann()[1].pk, campaign=campaign.pk, kind=RELEVANCE, revision=campaign.revision
    )
    # Their tasks were about images of both sizes; now one comes again and again.
    of_pool = likeness._pool(campaign.pk, RELEVANCE, campaign.revision)
    seen._tasks += map(seen._numbers, of_pool.images, of_pool.looks)
    widths = dict(campaign.corpus.images.values_list("pk", "width"))
    image = next(iter(widths))
    for _ in range(6):
        strange = seen.strangeness(image=image, content={})
        chosen = min(of_pool.rows, key=strange)
        seen.add(chosen)
        assert widths[of_pool.images[of_pool.rows[chosen]]] == widths[image]


def test_wrong_captions_of_control_items_are_those_that_the_campaign_asks_about():
    """What stood beside known images only, or was shorter than all others, told them."""
    campaign = a_campaign("graded", TRUSTING)
    captions = {tuple(content["caption"]) for content in Item.objects.values_list("content", flat=True)}
    invalid = [tuple(row.content["caption"]) for row in Control.objects.filter(stratum="1")]
    assert invalid and set(invalid) <= captions
    words = {
        image: [
            len(text.split()) for text in made_from.captions.order_by("number").values_list("text", flat=True)
        ]
        for image, made_from in ((row.pk, row) for row in Image.objects.filter(corpus=campaign.corpus))
    }
    lengths = [words[image][number] for image, number in captions]
    mean = sum(words[image][number] for image, number in invalid) / len(invalid)
    assert abs(mean - sum(lengths) / len(lengths)) < 1


def own_answers(worker: Worker) -> list[dict[str, Any]]:
    """Return the answers in the file that a worker may download."""
    account = Account.objects.get(identity__worker=worker)
    return list(json.loads("".join(own_data.own_data_json(account, worker)))["answers"])


def makes_of(worker: Worker, corpus: Corpus) -> dict[str, dict[str, set[str]]]:
    """Return for each kind, by whether an item is a control item, the forms of its lines in the file: their
    fields in order, with the type of each.

    No line may name an image or a caption by its key, or contain the digest of a question's key.
    """
    keys = set(corpus.images.values_list("key", flat=True))
    keys |= {f"{key}#{number}" for key, number in corpus.images.values_list("key", "captions__number")}
    judgments = Judgment.objects.filter(worker=worker).select_related("assignment").order_by("pk")
    makes: dict[str, dict[str, set[str]]] = {}
    for row, line in zip(judgments, own_answers(worker), strict=True):
        values = {value for _, value in features.texts(line)}
        assert not values & keys and row.key not in values and not {"key", "question", "role"} & set(line)
        assert not {part for part in row.key.split("|")[1:] if len(part) == 18} & values
        assert row.assignment is not None
        sorts = {f"{path} {type(value).__name__}" for path, value in features.leaves(line)}
        was = "test" if row.role == "qualification" else "known" if row.image_id is None else "asked"
        makes.setdefault(row.kind, {}).setdefault(was, set()).add(json.dumps([list(line), sorted(sorts)]))
        image = row.image.image_id if row.image else getattr(row.assignment.control, "image_id", None)
        assert is_page(row.kind) or line["image"] == name_of(image)
    return makes


@pytest.mark.slow  # the default run has pairs, below, which the same code writes
def test_the_file_of_ones_own_answers_says_the_same_of_control_items_about_chains_and_others():
    trust = {**TRUSTING["trust"], "warm_up_items": 2, "warm_up_known": 1}
    world = scenes(8, settings={"trust": trust}, workers=2)
    layer = world.corpus.layers.get(name="import")
    control_items.from_gold(campaign=world.campaign, layer=layer)
    crowd_works(world, ["perfect", "perfect"])
    worker = Worker.objects.get(pk=world.workers[0])
    account, _ = annotator("ann")
    Identity.objects.filter(account=account).update(worker=worker)
    makes = makes_of(worker, world.corpus)
    for kind in set(q.QUESTIONS) - {q.BOX_DRAWING}:
        assert makes[kind]["known"] == makes[kind]["asked"] and len(makes[kind]["known"]) == 1
    # A chain has the name that its tasks use: for boxes, its representative mention.
    named: dict[str, set[int]] = {}
    for line in own_answers(worker):
        named.setdefault(line["kind"], set()).add(len(line["mentions"]))
    assert named.pop(q.COREF_LINK) == {2} and min(named.pop(q.CHAIN_VERIFICATION)) > 1
    assert set(named) == set(q.QUESTIONS[2:]) and all(number == {1} for number in named.values())


@pytest.mark.parametrize("tasks", ["graded", "relevance", "tags"])
def test_the_file_of_ones_own_answers_says_the_same_of_control_items_about_pairs_and_others(tasks: str):
    page = {"page": {"images": 1, "captions": 4, "controls": 0}} if tasks == "tags" else PAGE
    campaign = a_campaign(tasks, {**HALF, **page})
    (kind,) = campaign.kinds
    program, worker = ann()
    messages = []
    for index in range(8):
        task = program.take(kind)
        if tasks == "graded":
            answer: dict[str, Any] = {"answer": "4"}
            messages.append([task["caption"]])
        else:
            answer = {"answer": "judged", "ticked": [[False] * size for size in sizes_of(task)]}
            messages.append([text for block in task["blocks"] for text in block["captions"]])
        assert program.answer(task, **answer, token=f"t{index}", next=False)[0] == 200
    makes = makes_of(worker, campaign.corpus)[kind]
    if tasks != "relevance":
        assert makes["known"] == makes["asked"] and len(makes["known"]) == 1
    # The lines contain what the tasks showed, and nothing else.
    lines = own_answers(worker)
    for texts, line in zip(messages, lines, strict=True):
        assert texts == ([line["caption"]] if tasks == "graded" else [p["caption"] for p in line["pairs"]])
    if tasks != "graded":
        assert PageControl.objects.filter(assignment__worker=worker).exists()
        assert {tuple(pair) for line in lines for pair in line["pairs"]} == {("image", "caption", "yes")}


def test_the_file_of_ones_own_answers_names_images_as_tasks_do_where_nobody_knows_an_answer():
    campaign = a_campaign("regions", TRUSTING)
    program, worker = ann()
    regions = [{"box": [1, 1, 5, n], "text": f"part {n}", "way": ""} for n in range(2, 7)]
    task = program.take(REGION_DESCRIPTION)
    assert program.answer(task, answer="described", regions=regions, next=False)[0] == 200
    assert set(makes_of(worker, campaign.corpus)[REGION_DESCRIPTION]) == {"asked"}
    (line,) = own_answers(worker)
    assert line["image"] == task["image"]["name"] and line["regions"] == regions


def test_the_file_of_ones_own_answers_names_images_in_a_test_as_its_tasks_do():
    campaign = a_campaign("captions", {})
    program, worker = ann()
    assert program.post("/api/tasks/test", {"campaign": "quay", "kind": CAPTION_WRITING})[0] == 200
    named = []
    for index in range(12):
        task = program.take(CAPTION_WRITING)
        right = Assignment.objects.get(pk=task["id"]).control
        assert task["test"] and right is not None
        program.answer(task, answer=right.known, token=f"t{index}", next=False)
        named.append(task["image"]["name"])
    task = program.take(CAPTION_WRITING)
    program.answer(task, answer="written", text="A dog runs home.", next=False)
    assert set(makes_of(worker, campaign.corpus)[CAPTION_WRITING]) == {"test", "asked"}
    assert [line["image"] for line in own_answers(worker)] == [*named, task["image"]["name"]]
    assert own_answers(worker)[-1]["text"] == "A dog runs home."


def test_what_a_worker_reads_of_their_own_data_does_not_tell_known_pages():
    trust = {**TRUSTING["trust"], "warm_up_items": 4, "warm_up_known": 4}
    campaign = a_campaign("relevance", {**PAGE, "trust": trust})
    program, worker = ann()
    task = program.take(RELEVANCE)
    assert Assignment.objects.get(pk=task["id"]).task_id is None
    ticked = [[False] * size for size in sizes_of(task)]
    program.answer(task, answer="judged", ticked=ticked, next=False)
    (answer,) = own_answers(worker)
    assert not {"question", "image"} & set(answer) and "known" not in json.dumps(answer)
    makes_of(worker, campaign.corpus)
    named = [block["image"]["name"] for block in task["blocks"]]
    assert list(dict.fromkeys(pair["image"] for pair in answer["pairs"])) == named


def test_the_list_of_ones_last_answers_shows_of_a_page_the_picture_that_came_first():
    """Its own is one that is asked about: shown afterwards, it would be known as no control image."""
    campaign = a_campaign("relevance", {**PAGE, **HALF})
    program, worker = ann()
    first = []
    for index in range(4):
        task = program.take(RELEVANCE)
        ticked = [[False] * size for size in sizes_of(task)]
        program.answer(task, answer="judged", ticked=ticked, token=f"t{index}", next=False)
        first.append(task["blocks"][0]["image"]["name"])
    listed = recent_answers(worker=worker.pk, campaign=campaign.pk, kind=RELEVANCE)
    assert [name_of(row.image) for row in reversed(listed)] == first
    images = Task.objects.filter(assignments__worker=worker).values_list("image__image", flat=True)
    assert {name_of(image) for image in images} - set(first)


def test_pages_are_of_one_make_whatever_the_item():
    campaign = a_campaign("graded", HALF)
    keys = set(campaign.corpus.images.values_list("key", flat=True))
    _, worker = ann()
    client, address = Client(), "/tasks/quay/graded_relevance/"
    assert worker.identity.account is not None
    client.force_login(worker.identity.account)
    client.post(f"{address}instructions/")
    makes: dict[bool, set[str]] = {True: set(), False: set()}
    for index in range(6):
        html = client.get(address).content.decode()
        held = Assignment.objects.get(state=Assignment.LEASED)
        form = {"assignment": held.pk, "token": f"t{held.pk}", "answer": "4", "seconds": "1"}
        after = client.post(address, form, follow=True).content.decode()
        seen = [features.page(value) for value in (html, after, client.get("/tasks/").content.decode())]
        assert not [text for page in seen for text in features.texts(page) if text[1] in keys]
        # The structure without the content. The first answer of a day includes its count.
        make = json.dumps([{name: len(result) for name, result in page.items()} for page in seen])
        if index:
            makes[held.control_id is not None].add(make)
    assert makes[True] == makes[False] and len(makes[True]) == 1


def test_the_learner_finds_what_tells_and_nothing_where_nothing_does():
    rng = np.random.default_rng(3)
    known = rng.random(600) < 0.5
    noise = rng.normal(size=(600, 30))
    images = [f"i{n}" for n in rng.integers(0, 100, 600)]
    workers = [f"w{n}" for n in rng.integers(0, 12, 600)]
    assert 0.4 < learner.separation(noise, known, images, workers, seed=1).area < 0.6
    noise[:, 7] += 3 * known
    result = learner.separation(noise, known, images, workers, seed=1)
    assert result.area > 0.95 and result.columns[0] == 7


def test_what_was_seen_is_told_in_numbers_whatever_it_means():
    before = features.numbers_of({"waiting": 7, "today": {"answers": 2}}, "offer")
    after = features.numbers_of({"waiting": 6, "today": {"answers": 3}}, "offer")
    assert features.changes(before, after, "taking") == {
        "taking offer.waiting": -1.0,
        "taking offer.today.answers": 1.0,
    }
    memory = features.Memory()
    task = {"caption": "A dog .", "captions": [{"text": "A dog ."}, {"text": "A cat ."}]}
    assert memory.recurs(task)[".caption here greatest"] == 2
    assert memory.recurs(task)[".caption before mean"] == 1
