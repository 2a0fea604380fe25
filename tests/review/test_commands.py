"""A reviewer's actions by command."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Flag, Ruling
from annotation.protocol import questions as q
from tests.review.world import HAT, MAN, THE_MAN, chain, image, lose_the_hat, refuse, report, the_world

pytestmark = pytest.mark.django_db


def run(name, *arguments):
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def text(name, *arguments):
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def world():
    return the_world()


def listed_rulings():
    return run("review_image", "review", "man")


def test_the_chains_of_an_image_are_told(world):
    refuse(world)
    assert [(c["mentions"], c["title"], c["stage"]) for c in listed_rulings()["chains"]] == [
        ([MAN, THE_MAN], "The man", "REVIEW"),
        ([HAT], "a hat", "DRAWING"),
    ]
    assert "REVIEW (refused)" in text("review_image", "review", "man")


def test_a_partition_by_command(world):
    refuse(world)
    groups = ["--groups", MAN, THE_MAN]
    run("make_ruling", "review", "man", "partition", *groups, "--comment", "two men")
    assert [c["mentions"] for c in listed_rulings()["chains"]] == [[MAN], [HAT], [THE_MAN]]
    assert Ruling.objects.get().comment == "two men"
    run("make_ruling", "review", "man", "partition", "--groups", f"{MAN},{THE_MAN}")
    assert [c["mentions"] for c in listed_rulings()["chains"]] == [[MAN, THE_MAN], [HAT]]


def test_boxes_a_closure_and_a_resumption_by_command(world):
    lose_the_hat(world)
    hat = ["--mentions", HAT]
    run("make_ruling", "review", "man", "boxes", *hat, "--boxes", "30,10,60,30", "1,1,5,5")
    assert chain(image(world), HAT)["b"] == [[30, 10, 60, 30], [1, 1, 5, 5]]
    run("make_ruling", "review", "man", "closure", *hat, "--closure", "scene")
    assert chain(image(world), HAT)["k"] == "scene"
    run("make_ruling", "review", "man", "resume", *hat)
    assert chain(image(world), HAT)["s"] == "REQUIREMENT"


def test_a_merge_is_undone_and_done_again_by_command(world):
    lease = world.held(0)
    world.submit(0, lease, world.wrong_answer(lease), then=False)
    world.work()
    assert [m["what"] for m in listed_rulings()["merged"]] == ["boxes", "chains"]
    assert "merged chains of 0:0-2, 1:0-2" in text("review_image", "review", "man")
    apart = run("make_ruling", "review", "man", "keep_apart", "--mentions", MAN, THE_MAN)
    assert listed_rulings()["merged"] == [] and listed_rulings()["complete"]
    number = str(apart["number"])
    assert f"ruling {number} of image man is withdrawn" in text("withdraw_ruling", "review", number)
    assert [m["what"] for m in listed_rulings()["merged"]] == ["boxes", "chains"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", "man", "resume", "--mentions", HAT], "no campaign “nothing”"),
        (["review", "woman", "resume", "--mentions", HAT], "no open image “woman” here"),
        (["review", "man", "boxes", "--mentions", HAT, "--boxes", "1,2,3"], "Expected at least 4"),
        (["review", "man", "boxes", "--mentions", HAT, "--boxes", "9,9,1,1"], "1 <= xmin <= xmax"),
        (["review", "man", "boxes", "--mentions", HAT], "--boxes: This is required"),
        (["review", "man", "keep_apart", "--mentions", HAT], "--mentions: Expected two"),
        (["review", "man", "closure", "--mentions", HAT, "--closure", "sky"], "--closure: Expected one of"),
        (["review", "man", "resume", "--mentions", HAT], "not in review"),
    ],
)
def test_what_cannot_be_ruled_is_one_line_on_standard_error(world, arguments, message):
    with pytest.raises(CommandError, match=message) as raised:
        run("make_ruling", *arguments)
    assert "\n" not in str(raised.value)
    assert not Ruling.objects.exists()
    with pytest.raises(CommandError, match="ruling: There is no ruling “7” here"):
        run("withdraw_ruling", "review", "7")


def test_the_review_queue_by_command(world):
    assert "no chain waits" in text("review_queue", "review")
    refuse(world)
    lose_the_hat(world)
    (waiting,) = run("review_queue", "review")["results"]
    assert [(waiting["image"], c["reason"], c["mentions"]) for c in waiting["chains"]] == [
        ("man", "refused", [MAN, THE_MAN]),
        ("man", "fruitless", [HAT]),
    ]
    (waiting,) = run("review_queue", "review", "--reason", "fruitless")["results"]
    assert [c["title"] for c in waiting["chains"]] == ["a hat"]
    assert "refused" in text("review_queue", "review")


def test_a_flagged_mention_is_told_and_resolved_by_command(world):
    report(world, q.COREF_LINK, "chunk_wrong", worker=1, comment="two words too many")
    (result,) = run("list_flags", "review")["results"]
    assert (result["image"], result["flag"], result["words"]) == ("man", "chunk_wrong", ["A man", "The man"])
    assert "two words too many" in text("list_flags", "review")
    assert run("resolve_flag", "review", str(result["number"]))["changed"]
    assert run("list_flags", "review")["results"] == []
    assert not run("resolve_flag", "review", str(result["number"]))["changed"]
    assert len(run("list_flags", "review", "--handled")["results"]) == 1
    assert Flag.objects.get().resolved_at is not None
    with pytest.raises(CommandError, match="no report “99”"):
        run("resolve_flag", "review", "99")
