"""A balance sheet: for every kind of object, found = taken + left, and every omission has a declared
reason."""

import pytest

from annotation.common.operations import Invalid, check_used, result_to_dict, sheet_text
from annotation.common.operations.balance import KINDS_IN_WORDS, LEFT_IN_WORDS, NOTES_IN_WORDS
from phrasebox import balance
from phrasebox.balance import Tally, counted_by, current_tally


def test_what_is_left_has_a_declared_reason():
    tally = Tally()
    with pytest.raises(ValueError, match="no reason"):
        tally.leave("pictures", "because")
    with pytest.raises(ValueError, match="no note"):
        tally.note("green")


def test_a_line_is_balanced_where_each_thing_was_taken_or_has_a_reason():
    tally = Tally()
    tally.count("pictures", 2)
    tally.take("pictures")
    assert not tally.sheet().balanced
    tally.leave("pictures", balance.UNCAPTIONED, 1, "b.jpg")
    assert tally.sheet().balanced


def test_readers_count_with_the_tally_of_who_asked_them():
    tally = Tally()
    with counted_by(tally):
        current_tally().pass_over("columns", balance.NOT_READ, 1, "photographer")
    current_tally().pass_over("columns", balance.NOT_READ)
    (line,) = tally.sheet().lines
    assert (line.found, line.taken, line.left[0].examples) == (1, 0, ("photographer",))


def test_sheets_add_up():
    part, whole = Tally(), Tally()
    part.pass_over("pictures", balance.PROBLEM, 2, "a.jpg", "b.jpg")
    part.note(balance.TURNED, 1, "c.jpg")
    whole.count("pictures", 3)
    whole.take("pictures", 3)
    whole.add(part.sheet())
    whole.add(part.sheet())
    (line,), (note,) = whole.sheet().lines, whole.sheet().notes
    assert (line.found, line.taken, line.left[0].count) == (7, 3, 4)
    assert note.count == 2


def test_a_sheet_in_words_and_as_json():
    tally = Tally()
    tally.count("pictures", 9)
    tally.take("pictures", 1)
    tally.leave("pictures", balance.UNCAPTIONED, 7, *"abcdefg")
    tally.leave("pictures", balance.CLUTTER, 1, "._a\x1b.jpg")
    tally.note(balance.TURNED, 1, "c.jpg")
    pictures, turned = sheet_text(tally.sheet())
    assert pictures == (
        "pictures: 9 found, 1 taken, left: 7 without a caption (a, b, c, d, e, …); "
        r"1 added by systems and tools (._a\x1b.jpg)"
    )
    assert turned == "pictures turned upright, as their EXIF data says; boxes are of those: 1 (c.jpg)"
    assert result_to_dict(tally.sheet())["lines"][0]["left"][0] == {
        "reason": "no_caption",
        "count": 7,
        "examples": list("abcde"),
    }


def test_what_is_found_and_not_used_is_confirmed_once():
    tally = Tally()
    tally.pass_over("files", balance.CLUTTER, 1, ".DS_Store")
    check_used(tally.sheet(), leave_unused=False)
    tally.pass_over("files", balance.PACKED_INSIDE, 1, "images.zip")
    check_used(tally.sheet(), leave_unused=True)
    with pytest.raises(Invalid, match=r"^leave_unused: .*images\.zip"):
        check_used(tally.sheet(), leave_unused=False)


def test_every_kind_reason_and_note_has_words():
    assert set(LEFT_IN_WORDS) == balance.LEFT_REASONS
    assert set(NOTES_IN_WORDS) == balance.SHEET_NOTES
    kinds = {value for name, value in vars(balance).items() if name.isupper() and isinstance(value, str)}
    assert kinds - balance.LEFT_REASONS - balance.SHEET_NOTES <= set(KINDS_IN_WORDS)
