"""A name means one item or is refused with both, whatever its spelling; escaped names are restored."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasebox.formats.trec import read_qrels, read_run, write_qrels, write_run
from phrasebox.names import (
    ANY,
    FILE,
    KEY,
    SOURCE,
    STEM,
    AmbiguousName,
    CaptionNames,
    CaptionNaming,
    ImageNames,
    ImageNaming,
    Lookup,
    escaped,
    unescaped,
)
from phrasebox.text_files import FormatError, decimal_number, whole_number

STEMS = st.sampled_from(["1", "2", "3", "a", "a b", "a%20b", "café", "Café"])
ENDINGS = st.sampled_from([".jpg", ".JPG", ".png", ""])
FOLDERS = st.sampled_from(["", "", "train/", "val/"])
FILES = st.builds("".join, st.tuples(FOLDERS, STEMS, ENDINGS))
#: Variants in which people and machines spell a name.
SPELLINGS = st.sampled_from(
    [
        str,
        lambda name: unicodedata.normalize("NFD", name),
        lambda name: name.replace(" ", "\u202f"),
        lambda name: name.replace(" ", "%20"),
        lambda name: name.replace(".jpg", ".JPG"),
        lambda name: name.replace("/", "\\"),
    ]
)


@st.composite
def corpora(draw: st.DrawFn) -> ImageNames:
    files = draw(st.lists(FILES, min_size=1, max_size=5, unique=True))
    sources = draw(st.lists(st.sampled_from(["", "1", "2", "3", "9"]), min_size=5, max_size=5))
    keys = draw(st.lists(STEMS, min_size=5, max_size=5, unique=True))
    rows = zip(files, keys, sources, strict=False)
    return ImageNames(ImageNaming(n, key, file, source) for n, (file, key, source) in enumerate(rows))


def look(name: str) -> str:
    """Return a name's appearance, without the product's code."""
    plain = "".join(" " if sign.isspace() else sign for sign in unquote(name)).replace("\\", "/")
    stem, point, ending = unicodedata.normalize("NFC", plain).rpartition(".")
    return f"{stem}.{ending.lower()}" if point else ending


def names_of(image: ImageNaming, spaces: tuple[str, ...]) -> set[str]:
    base = image.filename.rpartition("/")[2]
    stem = base.rpartition(".")[0] or base
    of = {
        KEY: {image.key},
        FILE: {image.filename, base, f"{image.key}.jpg"},
        STEM: {stem},
        SOURCE: {image.source},
    }
    return set().union(*(of[space] for space in spaces or of)) - {""}


@given(
    names=corpora(),
    name=FILES | STEMS,
    spelled=SPELLINGS,
    spaces=st.sampled_from([ANY, (SOURCE,), (KEY, FILE)]),
)
def test_a_name_is_of_one_image_or_refused_with_both(names, name, spelled, spaces):
    name = spelled(name)
    bare = look(name).rpartition("/")[2]
    alike = {
        item
        for item, image in names.images.items()
        if {look(known) for known in names_of(image, spaces)} & {look(name), bare}
    }
    try:
        found = names.find(name, spaces)
    except AmbiguousName as error:
        named = [image for item, image in names.images.items() if repr(image.filename) in str(error)]
        assert len(named) >= 2 and {image.item for image in named} <= alike
        return
    assert found is None or found in alike
    exact = [
        n
        for n, image in names.images.items()
        if name in names_of(image, spaces) - {image.filename.rpartition("/")[2]}
    ]
    if len(exact) == 1 and spaces == ANY and "/" not in names.images[exact[0]].filename:
        assert found == exact[0]
    if found is None:
        assert not exact


@given(names=corpora(), name=FILES, number=st.integers(0, 2))
def test_a_caption_is_found_with_its_image_or_refused(names, name, number):
    captions = CaptionNames(
        names, (CaptionNaming(10 * image + n, image, n) for image in names.images for n in range(2))
    )
    try:
        image = names.find(name)
    except AmbiguousName:
        with pytest.raises(AmbiguousName):
            captions.find(f"{name}#{number}")
        return
    expected = None if image is None or number == 2 else 10 * image + number
    assert captions.find(f"{name}#{number}") == captions.find(f"{name}_{number}") == expected


def test_an_id_that_two_captions_have_is_refused_with_both():
    names = ImageNames([ImageNaming(1, "a", "a.jpg"), ImageNaming(2, "b", "b.jpg")])
    captions = CaptionNames(names, [CaptionNaming(1, 1, 0, "7"), CaptionNaming(2, 2, 1, "7")])
    with pytest.raises(
        AmbiguousName, match=r"'7' is the name of both caption 0 of 'a.jpg' and caption 1 of 'b.jpg'"
    ):
        captions.find("7")


def test_a_file_whose_format_says_what_its_names_are_is_read_so():
    rows = [(f"{n}.jpg", str(place)) for place, n in enumerate(sorted(range(1, 13), key=str), 1)]
    names = ImageNames(ImageNaming(n, file[:-4], file, source) for n, (file, source) in enumerate(rows))
    by_source = Lookup(names.find, (SOURCE, FILE), file="results.json")
    assert [by_source[source] for _, source in rows] == list(range(12))
    with pytest.raises(
        FormatError, match=r"scores.npz: '2' is the key of '2.jpg' and the id in the source of '10.jpg'"
    ):
        Lookup(names.find, file="scores.npz")["2"]


@given(st.lists(st.text(min_size=1), min_size=1, unique=True))
def test_names_with_spaces_come_back_from_trec(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("trec")
    names = [name for name in names if name.encode("utf-8", "ignore").decode() == name] or ["a b"]
    assert all(
        unescaped(escaped(name)) == name and escaped(name).split() == [escaped(name)] for name in names
    )
    write_run(folder / "run", "tag", [(name, names, [0.0] * len(names)) for name in names], keep_ties=True)
    read = read_run(folder / "run").rankings
    assert list(read) == names and all(set(items) == set(names) for items, _ in read.values())
    if not any(name.startswith("#") for name in names):
        write_qrels(folder / "qrels", [(name, name, 1) for name in names])
        assert read_qrels(folder / "qrels") == {name: {name: 1} for name in names}


@pytest.mark.parametrize("text", ["1_000", "١٢", "９", "", "1,5", "0x10", "1e", "nan", "--1"])
def test_what_python_alone_reads_is_no_number(text):
    assert whole_number(text) is None and decimal_number(text) is None


def test_whole_numbers_may_have_a_point():
    assert [whole_number(text) for text in ("7", " 7.0 ", "-1.", "7.5", "1e3")] == [7, 7, -1, None, None]


def test_comments_in_qrels_and_further_columns_of_runs_are_passed_over(tmp_path: Path):
    (tmp_path / "qrels").write_text("# query 0 item grade\n#note\na 0 b 1.0\n#1 0 b 2\n")
    assert read_qrels(tmp_path / "qrels") == {"a": {"b": 1}, "#1": {"b": 2}}
    (tmp_path / "run").write_text("a Q0 b 1 0.5 tag more columns\n")
    assert read_run(tmp_path / "run").tag == "tag"
    (tmp_path / "bad").write_text("a 0 b 1_0\n")
    with pytest.raises(FormatError, match="has the grade '1_0'"):
        read_qrels(tmp_path / "bad")
