"""When a task and a control item, or two control items, are the same question for a worker, in SQL.

Nobody answers a question twice, in any form: as a task, a control item, an item of a test or an image on a
relevance page. Two forms about one image are the same question if

- they have the same key: links, verification, requirement, drawing, coverage, graded pairs;
- Box Quality: they have the same key, or show the same phrases with the same accepted boxes and the same box.
  Its
  key contains the judgment that drew the box, and a control item's box has none;
- relevance: they have a pair of image and caption in common, whichever of its captions a page showed.

Writing a caption differs from the test of spelling, and regions have no control items: there, nothing is the
same. A planned item of a test does not count as seen; anything that a worker ever leased does, whatever its
result.
"""

from collections.abc import Mapping, Sequence

from django.db import connection

from annotation.common import database
from annotation.models import Assignment
from annotation.protocol.kinds import is_page, kind_of
from annotation.protocol.questions import judgment_name

#: Number of characters of a judgment's name.
_NAME = len(judgment_name("", "", ""))


def seen_as_control(kind: str, worker: str = "%s") -> str:
    """Return the condition that `worker` saw the question of task `t` of `kind` as a control item or in a
    test.

    `worker` is a column, or the one parameter. Looks up the control items of the task's image by index, so
    that it costs almost nothing if there are none.
    """
    if is_page(kind):
        return f"""EXISTS (SELECT 1 FROM annotation_item i
            JOIN annotation_control k ON k.campaign_id = t.campaign_id AND k.kind = '{kind}'
                AND {_image_is("k", "i")}
            WHERE i.task_id = t.id AND {_pair_in_common("k", "i")} AND {worker} IN (
                SELECT m.worker_id FROM annotation_assignment m
                WHERE m.control_id = k.id AND m.state <> '{Assignment.PLANNED}'
                UNION ALL SELECT m.worker_id FROM annotation_pagecontrol p
                JOIN annotation_assignment m ON m.id = p.assignment_id WHERE p.control_id = k.id))"""
    item, same = "", "k.key = t.key"
    if kind_of(kind).judges:
        item = "JOIN annotation_item i ON i.task_id = t.id AND i.position = 0"
        same = f"(k.key = t.key OR {_same_box(kind, 'k', 't', 'i')})"
    return f"""EXISTS (SELECT 1 FROM annotation_openimage oi
        JOIN annotation_control k ON k.image_id = oi.image_id AND k.campaign_id = t.campaign_id {item}
        JOIN annotation_assignment m ON m.control_id = k.id AND m.state <> '{Assignment.PLANNED}'
        WHERE oi.id = t.image_id AND {same} AND m.worker_id = {worker})"""


def asked_before(*, worker: int, campaign: int, kind: str) -> frozenset[int]:
    """Return ids of the control items of a kind, of either purpose, whose question the worker had in another
    form: as a task, whatever its result, or as another control item.

    The control item itself is not considered.
    """
    return asked_before_in(worker=worker, campaigns={kind: [campaign]})


def asked_before_in(*, worker: int, campaigns: Mapping[str, Sequence[int]]) -> frozenset[int]:
    """Like `asked_before`, for several kinds, each with its campaigns (ids); one query."""
    parts: list[str] = []
    values: list[int | str] = []
    for kind, those in campaigns.items():
        mine = f"m.worker_id = %s AND m.campaign_id IN ({database.parameters(those)}) AND m.kind = %s"
        parts.append(
            f"""SELECT c.id FROM annotation_assignment m JOIN annotation_task t ON t.id = m.task_id
                JOIN {_of_task(kind)} WHERE {mine}
                UNION SELECT c.id FROM annotation_assignment m
                LEFT JOIN annotation_pagecontrol p ON p.assignment_id = m.id
                JOIN annotation_control k ON k.id = COALESCE(p.control_id, m.control_id)
                JOIN annotation_control c ON c.campaign_id = k.campaign_id AND c.image_id = k.image_id
                    AND c.kind = k.kind AND c.id <> k.id AND {_of_control(kind)}
                WHERE {mine} AND m.state <> '{Assignment.PLANNED}'"""
        )
        values += [worker, *those, kind, worker, *those, kind]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ".join(parts), values)
        return frozenset(control for (control,) in cursor.fetchall())


def _of_task(kind: str) -> str:
    """Return the join of a task `t` with the control items `c` of the same question."""
    if is_page(kind):
        return f"""annotation_item i ON i.task_id = t.id
            JOIN annotation_control c ON c.campaign_id = t.campaign_id AND c.kind = t.kind
                AND {_image_is("c", "i")} AND {_pair_in_common("c", "i")}"""
    item, same = "", "c.key = t.key"
    if kind_of(kind).judges:
        item = "JOIN annotation_item i ON i.task_id = t.id AND i.position = 0"
        same = f"(c.key = t.key OR {_same_box(kind, 'c', 't', 'i')})"
    return f"""annotation_openimage o ON o.id = t.image_id {item}
        JOIN annotation_control c ON c.campaign_id = o.campaign_id AND c.image_id = o.image_id
            AND c.kind = t.kind AND {same}"""


def _of_control(kind: str) -> str:
    """Return the condition that the control items `k` and `c` of one image are the same question."""
    if is_page(kind):
        return _in_common(_captions_of("k"), _captions_of("c"))
    if kind_of(kind).judges:
        return f"(c.key = k.key OR {_same_box(kind, 'c', 'k', 'k')})"
    return "c.key = k.key"


def _same_box(kind: str, control: str, other_control: str, pair_condition: str) -> str:
    """Return the condition that a control item asks about the box of `other_control`, whose content is
    `pair_condition`'s."""
    # The boxes follow the kind and the name of the judgment that drew the box, counted from 1.
    boxes = len(kind) + _NAME + 3
    return (
        f"(substr({control}.key, {boxes}) = substr({other_control}.key, {boxes})"
        f" AND {_part(control, 'mentions')} = {_part(pair_condition, 'mentions')})"
    )


def _image_is(control: str, item: str) -> str:
    """Return the condition that an item of a page is about the image of a control item."""
    if connection.vendor == "postgresql":
        return f"{control}.image_id = CAST({item}.content ->> 'image' AS bigint)"
    return f"{control}.image_id = json_extract({item}.content, '$.image')"


def _pair_in_common(control: str, item: str) -> str:
    """Return the condition that a control item, and an item of a page about the same image, share a
    caption."""
    return _in_common(_captions_of(control), _json_each(item, "captions"))


def _captions_of(control: str) -> str:
    return _json_each(control, "blocks", 0, "captions")


def _in_common(first: str, second: str) -> str:
    return f"EXISTS (SELECT 1 FROM {first} x JOIN {second} y ON x.value = y.value)"


def _part(row: str, name: str) -> str:
    """Return a part of a row's content, comparable with another row's."""
    if connection.vendor == "postgresql":
        return f"{row}.content -> '{name}'"
    return f"json_extract({row}.content, '$.{name}')"


def _json_each(row: str, *way: str | int) -> str:
    """Return the elements of a list in a row's content, as rows with a `value`."""
    if connection.vendor == "postgresql":
        return f"jsonb_array_elements({row}.content #> '{{{','.join(map(str, way))}}}')"
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)
    return f"json_each({row}.content, '${steps}')"
