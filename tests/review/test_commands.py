"""A reviewer's acts by command."""

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


def test_without_a_ruling_the_chains_are_told(world):
    refuse(world)
    told = run("make_ruling", "review", "man")
    assert [(c["mentions"], c["title"], c["stage"]) for c in told["chains"]] == [
        ([MAN, THE_MAN], "The man", "REVIEW"),
        ([HAT], "a hat", "DRAWING"),
    ]
    assert "REVIEW (refused)" in text("make_ruling", "review", "man")
    assert not Ruling.objects.exists()


def test_a_partition_by_command(world):
    refuse(world)
    told = run("make_ruling", "review", "man", "--partition", MAN, THE_MAN, "--comment", "two men")
    assert [c["mentions"] for c in told["chains"]] == [[MAN], [HAT], [THE_MAN]]
    assert Ruling.objects.get().comment == "two men"
    together = run("make_ruling", "review", "man", "--partition", f"{MAN},{THE_MAN}")
    assert [c["mentions"] for c in together["chains"]] == [[MAN, THE_MAN], [HAT]]


def test_boxes_a_closure_and_a_resumption_by_command(world):
    lose_the_hat(world)
    run("make_ruling", "review", "man", "--boxes", HAT, "30,10,60,30", "1,1,5,5")
    assert chain(image(world), HAT)["b"] == [[30, 10, 60, 30], [1, 1, 5, 5]]
    run("make_ruling", "review", "man", "--closure", HAT, "scene")
    assert chain(image(world), HAT)["k"] == "scene"
    run("make_ruling", "review", "man", "--resume", HAT)
    assert chain(image(world), HAT)["s"] == "REQUIREMENT"


def test_a_merge_is_undone_and_done_again_by_command(world):
    lease = world.held(0)
    world.submit(0, lease, world.wrong(lease), then=False)
    world.work()
    assert [m["what"] for m in run("make_ruling", "review", "man")["merged"]] == ["boxes", "chains"]
    assert "merged chains of 0:0-2, 1:0-2" in text("make_ruling", "review", "man")
    apart = run("make_ruling", "review", "man", "--keep-apart", MAN, THE_MAN)
    assert apart["merged"] == [] and apart["complete"]
    assert f"ruling {apart['ruling']} is withdrawn" in text(
        "make_ruling", "review", "man", "--withdraw", str(apart["ruling"])
    )
    assert [m["what"] for m in run("make_ruling", "review", "man")["merged"]] == ["boxes", "chains"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing", "man"], "no campaign 'nothing'"),
        (["review", "woman"], "image 'woman' is not open"),
        (["review", "man", "--boxes", HAT, "1,2,3"], "expected xmin,ymin,xmax,ymax"),
        (["review", "man", "--boxes", HAT, "9,9,1,1"], "1 <= xmin <= xmax"),
        (["review", "man", "--boxes", HAT], "needs one box or more"),
        (["review", "man", "--closure", HAT, "sky"], "'sky'"),
        (["review", "man", "--resume", HAT], "not in review"),
        (["review", "man", "--withdraw", "7"], "no ruling 7"),
    ],
)
def test_what_cannot_be_ruled_is_one_line_on_standard_error(world, arguments, said):
    with pytest.raises(CommandError, match=said) as raised:
        run("rule", *arguments)
    assert "\n" not in str(raised.value)
    assert not Ruling.objects.exists()


def test_the_review_queue_by_command(world):
    assert "no chain waits" in text("review_queue", "review")
    refuse(world)
    lose_the_hat(world)
    told = run("review_queue", "review")
    assert (told["waiting"], told["more"]) == (2, False)
    assert [(c["image"], c["reason"], c["mentions"]) for c in told["chains"]] == [
        ("man", "refused", [MAN, THE_MAN]),
        ("man", "fruitless", [HAT]),
    ]
    assert [c["title"] for c in run("review_queue", "review", "--reason", "fruitless")["chains"]] == ["a hat"]
    assert "make_ruling review man --help" in text("review_queue", "review")


def test_a_flagged_mention_is_told_and_resolved_by_command(world):
    report(world, q.COREF_LINK, "chunk_wrong", worker=1, comment="two words too many")
    (told,) = run("list_flags", "review")["flags"]
    assert (told["image"], told["reported"], told["words"]) == ("man", "chunk_wrong", ["A man", "The man"])
    assert "two words too many" in text("list_flags", "review")
    after = run("list_flags", "review", "--resolve", str(told["id"]))
    assert (after["resolved"], after["flags"]) == ([told["id"]], [])
    assert run("list_flags", "review", "--resolve", str(told["id"]))["resolved"] == []
    assert [f["resolved"] for f in run("list_flags", "review", "--all")["flags"]] == [True]
    assert Flag.objects.get().resolved_at is not None
    with pytest.raises(CommandError, match="no report 99"):
        run("list_flags", "review", "--resolve", "99")
