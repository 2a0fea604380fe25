"""Phrases that reviewers mend while people work: what is asked again, what counts, what is exported."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Sum

from annotation.datasets.bundles import check
from annotation.datasets.bundles.writing import write_bundle
from annotation.datasets.layer_rows import numbered_chains
from annotation.datasets.layers import layer_to_read
from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Flag,
    Judgment,
    OpenImage,
    Ruling,
    Task,
)
from annotation.moderation import mending, rulings
from annotation.moderation.rulings import CannotRule
from annotation.protocol import questions as q
from annotation.protocol.contents import mention_from, question_from
from annotation.protocol.gold import Truth, erring
from annotation.protocol.image import Fold
from annotation.protocol.mentions import mentions_at
from annotation.protocol.rng import SeededRng
from annotation.protocol.rulings import Phrases, UnrelatedCaption
from annotation.protocol.terms import CATEGORIES, Mention
from annotation.queue import image_state
from annotation.queue.leases import Lease
from annotation.queue.submission import Answer
from annotation.selectors.records import layer_of
from annotation.simulation.standin import stand_in
from tests.factories import an_image
from tests.queue.world import World
from tests.review.world import CAPTIONS, HAT, MAN, THE_MAN, a_man, chain, image, report, the_world

pytestmark = pytest.mark.django_db

PER_ITEM = dict.fromkeys(q.QUESTIONS, 0.05)
SIZE = (500, 375)


def random_mend(row: OpenImage, random: Random) -> Phrases | UnrelatedCaption:
    """Return a random change of an image's phrases."""
    mentions = [mention_from(fields) for fields in row.mentions]
    words = [
        " ".join(text.split()).split()
        for text in row.image.captions.order_by("number").values_list("text", flat=True)
    ]
    caption = random.randrange(len(words))
    start = random.randrange(len(words[caption]) - 2)
    (new,) = mentions_at(words, [(caption, start, start + random.randint(1, 2))])
    if not mentions or random.random() < 0.2:
        return Phrases((), (new,))
    chosen = random.choice(mentions)
    match random.randrange(4):
        case 0:
            return UnrelatedCaption(caption)
        case 1:
            return Phrases((chosen.id,))
        case 2:
            return Phrases((), (replace(chosen, categories=(random.choice(CATEGORIES),)),))
        case _:
            touched = [
                m for m in mentions if m.caption == caption and m.start < new.end and new.start < m.end
            ]
            return Phrases(tuple(m.id for m in touched), (new,))


def reply(lease: Lease, random: Random) -> Answer:
    """Return what somebody answers who mostly knows what is in the picture."""
    if random.random() < 0.03:
        return Answer(flag="chunk_wrong")
    question = question_from(lease.kind, lease.key, lease.content)
    mentions = []
    for name in question.mentions:
        caption, start, end = map(int, name.replace("-", ":").split(":"))
        mentions.append(Mention(caption, start, end, ("x",) * (end - start), ("other",)))
    gold = stand_in(mentions, size=SIZE, seed=len(lease.key) % 3, image="x")
    rng = SeededRng(random.randrange(10**6), lease.key)
    word, box = erring(question, Truth(gold, size=SIZE), rng, error=0.1, jitter=0.02)
    return Answer(word, box)


def mend_while_people_work(runs: int, seed: int) -> World:
    """Let people answer about `runs` images, in an order in which each answer is to a question that was open
    when its task was leased, and mend phrases, and take mends back, in between."""
    random = Random(seed)
    world = World(
        [an_image(f"m{number}", *CAPTIONS) for number in range(runs)],
        settings={
            "trust": {
                "qualification": False,
                "control_share": 0.0,
                "double_check_share": 0.3,
                "warm_up_known": 1,
                "warm_up_items": 1000,
            },
            "pay": {"basis": "item", "per_item": PER_ITEM, "currency": "EUR"},
            "lease": {"in_hand": 4},
        },
        name=f"mend{runs}",
        workers=7,
    )
    held: list[tuple[int, Lease]] = []
    given, idle, mends = 0, 0, 0
    while idle < 30:
        worker = random.randrange(len(world.workers))
        mine = [lease.id for who, lease in held if who == worker]
        lease = world.take(worker, random.choice(q.QUESTIONS), mine) if len(held) < 6 else None
        if isinstance(lease, Lease):
            held.append((worker, lease))
            idle = 0
        else:
            idle += not held
        if held and random.random() < 0.7:
            who, taken = held.pop(random.randrange(len(held)))
            world.submit(who, taken, reply(taken, random), then=False)
            given += 1
            if random.random() < 0.12 and mends < 3 * runs:
                row = OpenImage.objects.select_related("image", "campaign").get(
                    campaign=world.campaign, image=taken.image
                )
                mends += mend_or_take_back(row, random)
    for who, taken in held:
        world.submit(who, taken, reply(taken, random), then=False)
    assert mends > runs // 2
    assert Judgment.objects.filter(campaign=world.campaign).count() == given + len(held)
    paid = Assignment.objects.filter(campaign=world.campaign, state=Assignment.SUBMITTED)
    assert list(paid.values_list("pay", flat=True).distinct()) == [50_000], "all that was given is paid"
    return world


def mend_or_take_back(row: OpenImage, random: Random) -> bool:
    """Mend an image, or take a mend back; return whether it was possible."""
    in_force = list(row.rulings.filter(withdrawn_at=None))
    try:
        if in_force and random.random() < 0.25:
            rulings.withdraw_ruling(campaign=row.campaign, ruling=random.choice(in_force).pk)
        else:
            rulings.make_ruling(image=row.pk, ruling=random_mend(row, random))
    except CannotRule:
        return False
    return True


def check_image(row: OpenImage) -> bool:
    """Assert that an image is as if it had been opened with its final phrases, and only answers about these
    had been given; return whether it was mended."""
    votes = list(Judgment.objects.filter(image=row).order_by("pk"))
    names = {vote.name: vote.key for vote in votes}
    final = [mention_from(fields) for fields in row.mentions]
    ids = {mention.id for mention in final}
    fold, judgments = image_state.stored_fold(row)
    assert isinstance(fold, Fold)
    assert set(fold.mentions) == set(final)
    unchanged = [judgment for judgment in judgments if ids.issuperset(q.mentions_in(judgment.key, names))]
    expected = Fold(final, fold.settings)(unchanged)
    unrelated = tuple(
        sorted(r.caption for r in rulings.rulings_in_force(row) if isinstance(r, UnrelatedCaption))
    )
    assert row.state["chains"] == [image_state.chain_of(state) for state in expected.chains]
    votes_of = [vote.key for vote in votes if vote.role == q.VOTE]
    needed = {question.key: question.needed + votes_of.count(question.key) for question in expected.questions}
    tasks = Task.objects.filter(image=row, state=Task.OPEN, role=q.VOTE)
    assert dict(tasks.values_list("key", "needed")) == needed
    for key in Task.objects.filter(image=row, state=Task.OPEN).values_list("key", flat=True):
        assert ids.issuperset(q.mentions_in(key, names)), "nobody is asked about a phrase that is gone"
    if votes or rulings.rulings_in_force(row):
        layer = layer_to_read(row.campaign.corpus, row.campaign.name)
        record = numbered_chains(row, replace(expected.layer, unrelated=unrelated))
        assert layer is not None and layer_of(row.image, layer, excluded=True) == record
    return row.opened_mentions is not None


def check_campaign(world: World, folder: Path) -> None:
    """Check every image of a campaign, and that its bundle says the same."""
    rows = OpenImage.objects.filter(campaign=world.campaign).select_related("image", "campaign__corpus")
    mended = sum(check_image(row) for row in rows)
    assert mended > len(rows) // 3
    write_bundle(campaign=world.campaign, out=folder / "bundle")
    assert [p for images in check.images_of(folder / "bundle") for p in check.image_problems(*images)] == []


def test_answers_to_unchanged_questions_count_in_whatever_order_phrases_are_mended(tmp_path: Path):
    check_campaign(mend_while_people_work(2, seed=2), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 115))
def test_they_count_in_each_of_300_orders(seed: int, tmp_path: Path):
    """Fifteen campaigns of twenty images, each of which has an order of its own."""
    check_campaign(mend_while_people_work(20, seed=seed), tmp_path)


def run(name: str, *arguments: str):
    """Return the result of a command."""
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def work(world: World) -> None:
    """Let people who know the first phrases answer until nothing is open."""
    assert world.work() > 0
    assert image(world).complete


def test_another_span_is_asked_about_and_the_rest_stays():
    world = the_world(limits={"fruitless": 3})
    work(world)
    before = Judgment.objects.count()
    preview = run("preview_mend", "review", "man", "--remove", HAT, "--add", "0:4-5")
    assert (preview["removed"], preview["added"], preview["opened"]) == (1, 1, {q.BOX_DRAWING: 1})
    assert preview["phrases"] == [["a hat (clothing)", "hat (clothing)", 1]]
    assert preview["superseded"] == 4
    assert sum(preview["answers"].values()) == 4

    done = run("mend_phrases", "review", "man", "--remove", HAT, "--add", "0:4-5", "--comment", "no article")
    assert (done["questions"], done["waiting"]) == (1, 0)
    row = image(world)
    assert not row.complete
    assert chain(row, MAN, THE_MAN)["s"] == "BOXED"
    assert Judgment.objects.count() == before
    entry = AuditEntry.objects.get(act="rule")
    assert entry.about["content"]["removed"] == [HAT]

    run("withdraw_ruling", "review", str(done["rulings"][0]))
    assert image(world).complete
    assert not Task.objects.filter(image=row, state=Task.OPEN).exists()


def test_what_was_asked_is_what_was_forecast():
    """People who know the phrases answer what follows from the mend; the money is what they earn by it."""
    world = the_world(limits={"fruitless": 3}, pay={"basis": "item", "per_item": PER_ITEM, "currency": "EUR"})
    work(world)
    forecast = run("preview_mend", "review", "man", "--remove", THE_MAN)
    before = Judgment.objects.count()
    earned = Assignment.objects.aggregate(pay=Sum("pay"))["pay"]
    run("mend_phrases", "review", "man", "--remove", THE_MAN)
    assert world.work() == sum(forecast["answers"].values())
    assert image(world).complete
    assert Judgment.objects.count() == before + sum(forecast["answers"].values())
    earned = Assignment.objects.aggregate(pay=Sum("pay"))["pay"] - earned
    assert float(forecast["cost"]) == pytest.approx(earned / 1e6, rel=0.1)
    assert forecast["currency"] == "EUR"


def test_a_caption_that_does_not_describe_the_picture_is_listed_in_the_export(tmp_path: Path):
    world = the_world()
    work(world)
    run("mend_phrases", "review", "man", "--unrelated", "1")
    world.work()
    row = image(world)
    assert row.complete
    assert [mention_from(fields).caption for fields in row.mentions] == [0, 0]
    export = ["export_dataset", "review", "--layer", "review", "--format", "entities"]
    call_command(*export, "--out", str(tmp_path / "out"), stdout=StringIO())
    assert (tmp_path / "out" / "UNRELATED_CAPTIONS").read_text().splitlines()[1:] == ["man 2"]
    assert "[/EN#" not in (tmp_path / "out" / "Sentences" / "man.txt").read_text().splitlines()[1]
    assert not row.image.captions.filter(unrelated=True).exists(), "the corpus stays as it was imported"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--add", "0:4-6"], "would have a word in common"),
        (["--add", "0:3-5"], "nothing would change"),
        (["--add", "0:3-5=clothing"], "nothing would change"),
        (["--add", "0:3-5=cloth"], "There is no category"),
        (["--add", "hat"], "Expected phrases such as"),
        (["--add", "0:3-5@coat"], "is no word of"),
        (["--add", "0:7-9"], "has no words at"),
        (["--add", "7:0-1"], "has no words at"),
        (["--remove", "0:0-1"], "has no mention 0:0-1"),
        (["--remove", HAT, HAT], "named twice"),
        (["--unrelated", "2"], "has no caption 3"),
        ([], "remove, unrelated"),
    ],
)
def test_a_mend_that_cannot_be_made_says_why(arguments: list[str], words: str):
    world = the_world()
    with pytest.raises(CommandError, match=re.escape(words)):
        run("mend_phrases", "review", "man", *arguments)
    assert image(world).opened_mentions is None


def test_a_mend_on_which_another_rests_is_withdrawn_after_it():
    world = the_world()
    first = run("mend_phrases", "review", "man", "--remove", HAT, "--add", "0:4-5")["rulings"][0]
    second = run("mend_phrases", "review", "man", "--remove", "0:4-5", "--add", "0:3-6")["rulings"][0]
    with pytest.raises(CommandError, match="would have a word in common"):
        run("withdraw_ruling", "review", str(first))
    run("withdraw_ruling", "review", str(second))
    run("withdraw_ruling", "review", str(first))
    row = image(world)
    assert {mention_from(fields).id for fields in row.mentions} == {MAN, HAT, THE_MAN}


def test_phrases_of_a_closed_campaign_change_only_if_nobody_has_to_be_asked():
    world = the_world()
    work(world)
    Campaign.objects.update(state=Campaign.CLOSED)
    with pytest.raises(CommandError, match="The campaign is closed"):
        run("mend_phrases", "review", "man", "--remove", HAT, "--add", "0:4-5")
    run("mend_phrases", "review", "man", "--remove", HAT)
    row = image(world)
    assert (row.complete, len(row.mentions)) == (True, 2)


def test_a_report_proposes_the_phrase_that_its_comment_names_and_is_handled_with_the_mend():
    world = the_world()
    report(world, q.BOX_DRAWING, comment="Only “hat” should be marked!", mention=HAT)
    flag = Flag.objects.get()
    proposal = mending.proposal_of(flag, image(world))
    assert proposal is not None
    was, proposed = proposal
    assert (was.id, proposed.id) == (HAT, "0:4-5")
    run("mend_phrases", "review", "man", "--remove", HAT, "--add", "0:4-5", "--report", str(flag.pk))
    flag.refresh_from_db()
    assert flag.resolved_at is not None
    assert mending.proposal_of(flag, image(world)) is None


def test_a_rule_changes_all_images_and_is_previewed():
    world = the_world([a_man("one"), a_man("two"), an_image("three", "[/EN#1/people A man] walks .")])
    rule = ["review", "hat", "--act", "categorise", "--categories", "other"]
    preview = run("preview_phrase_rule", *rule)
    assert (preview["images"], preview["sampled"], preview["added"]) == (2, 2, 2)
    assert preview["phrases"] == [["a hat (clothing)", "a hat (other)", 2]]
    assert preview["opened"] == {q.BOX_REQUIREMENT: 2}
    done = run("apply_phrase_rule", *rule, "--comment", "no clothing here")
    assert (done["images"], done["phrases"], done["skipped"]) == (2, 2, {})
    assert Ruling.objects.filter(comment="no clothing here").count() == 2
    assert Task.objects.filter(state=Task.OPEN, kind=q.BOX_REQUIREMENT).count() == 2
    assert run("apply_phrase_rule", *rule)["images"] == 0
    joined = run("apply_phrase_rule", "review", "hat walks", "--act", "join")
    assert joined["images"] == 2
    assert "0:3-6" in {mention_from(fields).id for fields in image(world).mentions}
