"""Control items: read from a file and added, what is refused, who gets them, and how answers are graded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from annotation.common import database
from annotation.models import Assignment, AuditEntry, Control, Judgment, TrustState
from annotation.moderation import control_items, trust_replay, worker_status
from annotation.protocol import questions as q
from annotation.protocol.terms import Box
from annotation.protocol.trust_settings import TrustSettings
from annotation.quality import controls, worker_trust
from annotation.quality.controls import BadItems, ControlItem
from annotation.queue import leases, submission
from annotation.queue.leases import NoTask
from annotation.queue.submission import Answer
from phrasebox.text_files import FormatError
from tests.factories import some_images
from tests.queue.world import World
from tests.trust.scenes import gold, scenes

pytestmark = pytest.mark.django_db
HEAD = "kind,purpose,image,mentions,boxes,pending,known,explanation\n"
GOOD = """coref_link,control,1000,1:0-1 0:0-2,,,yes,both walk
chain_verification,control,1000,0:0-2 1:0-1,,,true,
box_requirement,qualification,1000,0:3-5,,,box,
box_drawing,qualification,1000,0:0-2,"1,1,9,9",,"10,10,100,200; 200,1,300,90",
box_drawing,qualification,1001,0:0-2,"10,10,100,200",,none,
box_quality,control,1000,0:0-2,,"10,10,100,200",good,
box_coverage,control,1000,0:0-2,"10,10,100,200;1,1,9,9",,complete,
"""
SETTINGS = TrustSettings()


@pytest.fixture
def world() -> World:
    """Images 1000 and 1001, of 500 x 375: "A man in a hat crosses the street ." and "Somebody walks ."."""
    return World()


def table(folder: Path, rows: str, *, head: str = HEAD) -> Path:
    file = folder / "known.csv"
    file.write_text(head + rows, encoding="utf-8")
    return file


def item(**changes) -> ControlItem:
    """Return a link between the two mentions of the man with the answer yes, or with these `changes`."""
    plain_value = {
        "kind": q.COREF_LINK,
        "purpose": Control.CONTROL,
        "image": "1000",
        "mentions": ("0:0-2", "1:0-1"),
        "known": "yes",
    }
    return ControlItem(**{**plain_value, **changes})


def add(world: World, *items: ControlItem, source: str = "page") -> controls.Added:
    return controls.add_control_items(campaign=world.campaign, items=enumerate(items, 1), source=source)


def links(world: World, count: int = 2) -> list[ControlItem]:
    """Return links with distinct mentions; the answers alternate between yes and no."""
    spans = ["0:0-1", "0:0-2", "0:3-4", "0:3-5", "0:4-5", "0:6-7", "0:6-8", "0:7-8"]
    return [item(mentions=("1:0-1", span), known="yes no".split()[n % 2]) for n, span in enumerate(spans)][
        :count
    ]


# From a file


def test_a_table_of_every_kind_becomes_rows_that_show_what_it_says(world, tmp_path):
    added = controls.from_csv(campaign=world.campaign, file=table(tmp_path, GOOD))
    assert (added.added, added.there) == (7, 0)
    link = Control.objects.get(kind=q.COREF_LINK)
    assert (link.content["mentions"], link.known, link.stratum) == (["0:0-2", "1:0-1"], "yes", "yes")
    assert link.key == "coref_link|0:0-2|1:0-1" and link.explanation == "both walk"
    drawing, nothing = Control.objects.filter(kind=q.BOX_DRAWING).order_by("id")
    assert drawing.known == [[10, 10, 100, 200], [200, 1, 300, 90]]
    assert drawing.content["boxes"] == [[1, 1, 9, 9]]
    assert (nothing.known, nothing.stratum, drawing.stratum) == ([], "none", "drawn")
    quality = Control.objects.get(kind=q.BOX_QUALITY)
    assert quality.content["pending"] == [10, 10, 100, 200] and q.question_of(quality.key) == q.BOX_QUALITY
    coverage = Control.objects.get(kind=q.BOX_COVERAGE)
    assert coverage.content["boxes"] == [[1, 1, 9, 9], [10, 10, 100, 200]]
    assert set(Control.objects.values_list("source", flat=True)) == {"csv"}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("relevant,control,1000,0:0-2,,,yes,", "unknown kind 'relevant'; known: coref_link,"),
        ("coref_link,test,1000,0:0-2 1:0-1,,,yes,", "unknown purpose 'test'; known: control, qualification"),
        ("box_drawing,control,1000,0:0-2,,,none,", "box_drawing has no control items"),
        ("coref_link,control,77,0:0-2 1:0-1,,,yes,", "there is no image '77' in corpus 'quay'"),
        ("coref_link,control,1000,0:0-2,,,yes,", "1 mentions for coref_link; expected 2"),
        ("chain_verification,control,1000,0:0-2,,,true,", "1 mentions for chain_verification; expected 2 or"),
        ("coref_link,control,1000,0:0-2 0:0-2,,,yes,", "a mention is named twice"),
        ("coref_link,control,1000,0:0-2 man,,,yes,", "mention 'man': expected caption:start-end"),
        ("coref_link,control,1000,0:0-2 5:0-1,,,yes,", "mention '5:0-1': image '1000' has no caption 5"),
        ("coref_link,control,1000,0:0-2 1:1-9,,,yes,", "caption 1 of image '1000' has 3 words"),
        ("coref_link,control,1000,0:0-2 1:0-1,,,maybe,", "gold answer 'maybe' is not one of yes, no"),
        ("coref_link,control,1000,0:0-2 1:0-1,,,,", "known is empty"),
        ('coref_link,control,1000,0:0-2 1:0-1,"1,1,2,2",,yes,', "coref_link shows no boxes"),
        ("box_coverage,control,1000,0:0-2,,,more,", "expected one or more"),
        ("box_quality,control,1000,0:0-2,,,good,", "a pending box belongs to box_quality, which needs one"),
        ('box_coverage,control,1000,0:0-2,"1,1,2,2","1,1,2,2",more,', "a pending box belongs to box_quality"),
        ('box_quality,control,1000,0:0-2,,"1,1,501,2",good,', "leaves image '1000', which has 500 x 375"),
        ('box_drawing,qualification,1000,0:0-2,,,"1,1,9,376",', "box [1, 1, 9, 376] leaves image '1000'"),
        (
            'box_quality,control,1000,0:0-2,,"9,1,2,2",good,',
            "pending '9,1,2,2': expected xmin,ymin,xmax,ymax",
        ),
        ('box_quality,control,1000,0:0-2,,"1,1,2,2;1,1,3,3",good,', "pending holds 2 boxes"),
        ("coref_link,control,1000", "has more or fewer cells than the first line"),
    ],
)
def test_a_bad_row_is_told_by_its_line_and_nothing_is_stored(world, tmp_path, row, problem):
    with pytest.raises(BadItems) as raised:
        controls.from_csv(campaign=world.campaign, file=table(tmp_path, GOOD + row + "\n"))
    ((line, reported),) = raised.value.problems
    assert line == 9 and problem in reported
    assert not Control.objects.exists() and not AuditEntry.objects.exists()


def test_all_bad_rows_are_told_at_once_in_their_order(world, tmp_path):
    rows = 'coref_link,control,77,0:0-2 1:0-1,,,yes,\nbox_quality,control,1000,0:0-2,,"1,1",good,\n'
    with pytest.raises(BadItems) as raised:
        controls.from_csv(campaign=world.campaign, file=table(tmp_path, rows + GOOD + rows))
    assert [line for line, _ in raised.value.problems] == [2, 3, 11, 12]
    assert str(raised.value).splitlines()[1].startswith("line 3: pending '1,1'")


@pytest.mark.parametrize(
    ("head", "rows", "problem"),
    [
        ("kind,purpose,image,mentions,boxes,known\n", GOOD, "lacks the column 'pending'"),
        (HEAD.replace("explanation", "why"), GOOD, "has a column 'why'"),
        (HEAD.replace("explanation", "known"), GOOD, "has the column 'known' more than once"),
        (HEAD, "", "holds no rows"),
        ("", "", "lacks the column 'kind'"),
        (HEAD, 'coref_link,"control', "unexpected end of data"),
    ],
)
def test_what_is_no_such_table_is_refused(world, tmp_path, head, rows, problem):
    with pytest.raises(FormatError, match=problem):
        controls.from_csv(campaign=world.campaign, file=table(tmp_path, rows, head=head))


def test_reading_a_file_again_changes_nothing(world, tmp_path):
    file = table(tmp_path, GOOD)
    controls.from_csv(campaign=world.campaign, file=file)
    revision = world.campaign.revision
    again = controls.from_csv(campaign=world.campaign, file=file)
    assert (again.added, again.there) == (0, 7)
    assert world.campaign.revision == revision and AuditEntry.objects.count() == 1


# Adding and retiring


def test_adding_raises_the_revision_and_leaves_a_line_in_the_audit(world):
    assert add(world, item()).added == 1
    world.campaign.refresh_from_db()
    assert world.campaign.revision == 1
    entry = AuditEntry.objects.get()
    assert (entry.act, entry.campaign, entry.about) == (
        "add_control_items",
        world.campaign,
        {"source": "page", "items": 1},
    )


def test_one_question_has_one_gold_answer_no_matter_who_adds_it(world):
    add(world, item())
    with pytest.raises(BadItems, match="line 1: this question about image '1000' is already a control item"):
        add(world, item(known="no", mentions=("1:0-1", "0:0-2")))
    with pytest.raises(BadItems, match="line 2"):
        add(world, item(image="1001"), item(image="1001", known="no"))
    assert Control.objects.get().known == "yes"
    assert add(world, item(purpose=Control.QUALIFICATION)).added == 1


def test_a_retired_item_leaves_its_pool_and_comes_back_when_it_is_added_again(world):
    add(world, *links(world))
    pool = controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision)
    assert [c.stratum for c in pool] == ["yes", "no"]
    assert controls.retire_control_items(campaign=world.campaign, controls=[int(pool[0].id)]) == 1
    assert controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision) == pool[1:]
    assert controls.retire_control_items(campaign=world.campaign, controls=[int(pool[0].id)]) == 0
    assert add(world, *links(world)).added == 1
    assert controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision) == pool


def test_a_pool_is_read_once_for_each_revision(world, django_assert_num_queries):
    add(world, item())
    controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision)
    with django_assert_num_queries(0):
        assert len(controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision)) == 1
    with django_assert_num_queries(1):
        controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision + 1)


def test_pools_keep_kinds_purposes_and_campaigns_apart(world):
    other_world = World(name="other")
    add(world, item(), item(purpose=Control.QUALIFICATION, image="1001"))
    add(other_world, item(kind=q.CHAIN_VERIFICATION, known="true"))
    assert len(controls.control_pool(world.campaign.pk, q.COREF_LINK, 1)) == 1
    assert len(controls.control_pool(world.campaign.pk, q.COREF_LINK, 1, Control.QUALIFICATION)) == 1
    assert controls.control_pool(other_world.campaign.pk, q.COREF_LINK, 1) == ()


# Shown to workers


def test_who_answered_a_question_as_a_task_is_never_measured_by_it(world):
    lease = world.held(0)
    first, second = lease.content["mentions"]
    key = world.images()[0].image.key if lease.image == world.images()[0].image_id else "1001"
    add(world, item(image=key, mentions=(first, second), known=world.right(lease).answer))
    (control,) = controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision)

    def seen(worker: int) -> frozenset[str]:
        return controls.controls_seen(
            worker=world.workers[worker], campaign=world.campaign.pk, kind=q.COREF_LINK
        )

    assert seen(0) == {control.id} and seen(1) == frozenset()
    assert controls.displayed_control(int(control.id)).content == lease.content


def test_control_items_come_at_the_rate_of_warm_up_each_once_and_stay_outside_the_fold():
    world = scenes(8, workers=2)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    for _ in range(60):
        lease = world.take(0)
        if isinstance(lease, NoTask):
            break
        world.submit(0, lease, then=False)
    rows = Assignment.objects.filter(worker=world.workers[0])
    assert rows.order_by("id")[:30].count() == 30
    assert sum(row.role == "control" for row in rows.order_by("id")[:30]) == 12
    held = rows.filter(role="control")
    assert held.values("control").distinct().count() == held.count()
    assert all(held.values_list("right", flat=True))
    trust_state = world.campaign.trust_states.get(worker=world.workers[0], kind=q.COREF_LINK)
    assert (trust_state.known, trust_state.right, trust_state.items) == (
        held.count(),
        held.count(),
        rows.count(),
    )
    assert not any(judgment.image_id for judgment in world.campaign.judgments.filter(role="control"))


@pytest.mark.parametrize("seed", range(3))
def test_the_first_gold_answers_are_balanced_whatever_becomes_of_the_items(seed):
    """Some are given back, run out, are answered late or retired in hand; others are retired or added."""
    rng = Random(seed)
    trust = {"qualification": False, "warm_up_items": 6, "warm_up_known": 4, "bar": 0.0}
    world = World(some_images(24), settings={"trust": trust}, workers=1)
    kinds = ("yes", "no")
    some = [item(image=str(1000 + n), mentions=("1:0-1", "0:3-4"), known=kinds[n % 2]) for n in range(24)]
    more = [item(image=str(1000 + n), mentions=("1:0-1", "0:3-5"), known=kinds[n % 2]) for n in range(24)]
    add(world, *some)
    excluded, graded = [], Assignment.objects.filter(right__isnull=False).order_by("judgments__id")
    while graded.all().count() < 12:
        lease = world.take(0)
        if isinstance(lease, NoTask):
            break
        act = rng.random()
        if act < 0.15 and lease.control:
            leases.return_lease(worker=world.workers[0], assignment=lease.id)
            excluded.append(lease)
            continue
        if act < 0.3 and lease.control:
            Assignment.objects.filter(pk=lease.id).update(expires_at=database.now())
            leases.end_expired_leases()
            excluded.append(lease)
            continue
        if act < 0.45 and lease.control:
            # Retired during a lease: it no longer measures anybody.
            controls.retire_control_items(campaign=world.campaign, controls=[lease.control])
        world.submit(0, lease, Answer(rng.choice(kinds)), then=False)
        if excluded and rng.random() < 0.5:
            late = excluded.pop(rng.randrange(len(excluded)))
            world.submit(0, late, Answer(rng.choice(kinds)), then=False)
        if rng.random() < 0.4:
            add(world, *more[:2])
            more = more[2:]
        # An answer that is withdrawn late leaves no time to compensate.
        if rng.random() < 0.3 and 0 < graded.all().count() < 8:
            world.campaign.refresh_from_db()
            control_id = rng.choice(list(graded.all())).control_id
            assert control_id is not None
            if rng.random() < 0.5:
                worker_status.disown_control_item(campaign=world.campaign, control=control_id)
            else:
                controls.retire_control_items(campaign=world.campaign, controls=[control_id])
    answers = list(graded.values_list("control__stratum", flat=True))
    assert len(answers) >= 12
    assert abs(answers[:12].count("yes") - answers[:12].count("no")) <= 1, answers
    trust_state = world.campaign.trust_states.get(kind=q.COREF_LINK)
    assert trust_state.known == len(answers) and worker_trust.trust_from_row(
        trust_state
    ) == trust_replay.replay_row(trust_state)


def test_an_item_that_is_retired_in_hand_measures_nobody(world):
    controls_only = {"qualification": False, "warm_up_items": 1, "warm_up_known": 1}
    world = World(settings={"trust": controls_only}, name="retired")
    add(world, item(mentions=("1:0-1", "0:3-4")))
    lease = world.held(0)
    assert lease.control is not None
    worker_status.disown_control_item(campaign=world.campaign, control=lease.control)
    assert world.submit(0, lease, Answer("no"), then=False).counted
    trust_state = world.campaign.trust_states.get(kind=q.COREF_LINK)
    assert (trust_state.items, trust_state.known) == (1, 0)
    assert worker_trust.trust_from_row(trust_state) == trust_replay.replay_row(trust_state)


def test_what_was_measured_before_a_trust_state_was_given_again_is_not_balanced_against(world):
    add(world, *links(world, 4))
    first, *_ = controls.control_pool(world.campaign.pk, q.COREF_LINK, world.campaign.revision)
    TrustState.objects.create(
        campaign=world.campaign,
        worker_id=world.workers[0],
        kind=q.COREF_LINK,
        state="warm_up",
        changed_at=database.now(),
    )
    held = Assignment.objects.create(
        campaign=world.campaign,
        worker_id=world.workers[0],
        kind=q.COREF_LINK,
        control_id=int(first.id),
        role="control",
        leased_at=database.now(),
        expires_at=database.now(),
    )

    def known() -> Mapping[str, int]:
        return controls.control_counts(
            worker=world.workers[0], campaign=world.campaign.pk, kind=q.COREF_LINK
        ).known

    submission.submit(
        worker=world.workers[0], assignment=held.pk, answer=Answer("yes"), token="t", then=False
    )
    assert known() == {first.stratum: 1}
    TrustState.objects.update(since=Judgment.objects.get().pk)
    assert known() == {}


# Grading


@pytest.mark.parametrize(
    ("kind", "known", "provided", "right"),
    [
        (q.COREF_LINK, "yes", Answer("yes"), True),
        (q.COREF_LINK, "yes", Answer("no"), False),
        (q.COREF_LINK, "yes", Answer(flag="chunk_wrong"), False),
        (q.BOX_REQUIREMENT, "scene", Answer("none"), False),
        (q.BOX_DRAWING, [[1, 1, 100, 100]], Answer("drawn", Box(1, 1, 100, 60)), True),
        (q.BOX_DRAWING, [[1, 1, 100, 100]], Answer("drawn", Box(1, 1, 100, 40)), False),
        (q.BOX_DRAWING, [[1, 1, 9, 9], [50, 50, 90, 90]], Answer("drawn", Box(50, 50, 90, 90)), True),
        (q.BOX_DRAWING, [[1, 1, 100, 100]], Answer("none"), False),
        (q.BOX_DRAWING, [], Answer("none"), True),
        (q.BOX_DRAWING, [], Answer("drawn", Box(1, 1, 9, 9)), False),
        (q.BOX_DRAWING, [], Answer(flag="image_missing"), False),
    ],
)
def test_an_answer_on_a_control_item_is_right_or_wrong_and_a_flag_is_wrong(kind, known, provided, right):
    assert controls.grade_control(kind=kind, known=known, answer=provided, settings=SETTINGS) is right


# Data of the campaign page


def test_pools_that_cannot_tell_good_workers_from_bad_are_told_of():
    world = scenes(1)
    assert set(controls.control_warnings(campaign=world.campaign, settings=SETTINGS)) == set(q.QUESTIONS) - {
        q.BOX_DRAWING
    }
    small = World()
    add(small, *links(small)[:1])
    control_warnings = controls.control_warnings(campaign=small.campaign, settings=SETTINGS)
    assert "no control item of coref_link has the gold answer 'no'" in control_warnings[q.COREF_LINK]
    add(small, *links(small, 8))
    control_warnings = controls.control_warnings(campaign=small.campaign, settings=SETTINGS)
    assert "coref_link has 8 control items" in control_warnings[q.COREF_LINK]


def test_pools_from_gold_are_large_enough():
    world = scenes(14)
    control_items.from_gold(campaign=world.campaign, layer=gold(world.campaign))
    assert controls.control_warnings(campaign=world.campaign, settings=SETTINGS) == {}
