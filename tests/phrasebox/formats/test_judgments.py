"""External judgments: what is read, the content of the real files, and how bad input is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from phrasebox.formats import JUDGMENT_FORMATS, JudgedPair
from phrasebox.registry import UnknownName
from phrasebox.text_files import FormatError


def read(key: str, path: Path) -> list[JudgedPair]:
    return list(JUDGMENT_FORMATS.get(key).read(path))


def written(folder: Path, text: str, name: str = "judgments.csv") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_expert_grades_have_no_judges(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jpg\tb.jpg#2\t1\t2\t4\n\nb.jpg\tb.jpg#2\t4\t4\t4\n")
    assert read("flickr8k-expert", file) == [
        JudgedPair("a.jpg", "b.jpg#2", (1, 2, 4)),
        JudgedPair("b.jpg", "b.jpg#2", (4, 4, 4)),
    ]


def test_crowd_counts_become_answers(tmp_path: Path) -> None:
    file = written(tmp_path, "a.jpg\tb.jpg#2\t0.333333333333333\t1\t2\n")
    (pair,) = read("flickr8k-crowd", file)
    assert pair.grades == (1.0, 0.0, 0.0)
    assert pair.mean == 1 / 3


def test_the_real_files_hold_what_the_paper_collected(real_data: Path) -> None:
    experts = read("flickr8k-expert", real_data / "flickr8k")
    crowd = read("flickr8k-crowd", real_data / "flickr8k")
    assert (len(experts), len(crowd)) == (5822, 47830)
    assert {len(pair.grades) for pair in experts} == {3}
    assert {len(pair.grades) for pair in crowd} == {3, 4, 5, 6}
    assert all(tuple(sorted(pair.grades)) == pair.grades for pair in experts)


def test_the_majority_gives_the_published_labels(real_data: Path) -> None:
    """Semantic Flickr Audio labels what most annotators chose, and keywords that the text itself holds."""
    folder = real_data / "semantic_flickraudio"
    with (folder / "semantic_flickraudio_labels.csv").open() as stream:
        rows = {row["utt_key"]: row for row in csv.DictReader(stream)}
    pairs = read("keyword-counts", folder)
    assert len(pairs) == 67 * 1000
    assert sum(pair.mean > 0 for pair in pairs) == 9989
    chosen = {(pair.query, pair.document) for pair in pairs if pair.mean > 0.5}
    labelled = {(word, key) for key, row in rows.items() for word in row["keywords"].split("|") if word}
    assert chosen <= labelled
    assert all(word in rows[key]["transcription"] for word, key in labelled - chosen)
    assert len(labelled) == 4337
    assert len(chosen) == 4009


def test_keywords_that_are_not_named_have_no_yes(tmp_path: Path) -> None:
    written(tmp_path, "dog\nball\ngrass\n", "keywords.txt")
    file = written(tmp_path, 'utt_key,transcription,counts\nu1,"a dog, running",dog=4|grass=12\nu2,x,\n')
    grades = {(pair.query, pair.document): pair.grades for pair in read("keyword-counts", file)}
    assert grades["dog", "u1"] == (1.0, 1.0, 1.0, 1.0, 0.0)
    assert grades["ball", "u1"] == (0.0,) * 5
    assert grades["grass", "u1"] == (1.0,) * 12 + (0.0,) * 3
    assert grades["dog", "u2"] == (0.0,) * 5


def test_a_table_with_one_answer_a_row_is_gathered(tmp_path: Path) -> None:
    file = written(tmp_path, "image,caption,judge,grade,remark\na,b,w,3,x\nc,d,w,1,\na,b,v,4,y\n")
    assert read("table", file) == [
        JudgedPair("a", "b", (3, 4), ("w", "v")),
        JudgedPair("c", "d", (1,), ("w",)),
    ]


def test_a_table_of_counts_by_tabs(tmp_path: Path) -> None:
    file = written(tmp_path, "query\tdocument\tyes\tno\nq\td\t2\t1\n")
    assert read("table", file) == [JudgedPair("q", "d", (1, 1, 0))]


def test_a_table_without_judges_names_none(tmp_path: Path) -> None:
    file = written(tmp_path, "query,document,grade\nq,d,0.5\nq,d,1\n")
    with pytest.raises(FormatError, match="line 3: judges a pair for the second time, of line 2, and 1 such"):
        read("table", file)
    counted = JUDGMENT_FORMATS.get("table").counting_repeats()
    assert list(counted.read(file)) == [JudgedPair("q", "d", (0.5, 1))]


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("flickr8k-expert", "a.jpg\tb.jpg#2\t1\t2\n", "line 1: .* is not a judgment; expected image<TAB>"),
        ("flickr8k-expert", "a.jpg\tb.jpg#2\t1\t2\t5\n", "line 1: .*'5'.* are not answers; .*grades 1 to 4"),
        ("flickr8k-expert", "a.jpg\tb.jpg\t1\t2\t3\n", "line 1: .* is not a judgment"),
        ("flickr8k-crowd", "a\tb#2\t0.5\t1\t2\n", "line 1: .* are not answers"),
        ("flickr8k-crowd", "a\tb#2\t0\t0\t0\n", "line 1: .* are not answers"),
        ("flickr8k-crowd", "a\tb#2\tx\t1\t0\n", "line 1: .* are not answers"),
        (
            "flickr8k-crowd",
            "a\tb#2\t1\t1\t0\nc\td#2\t1\t1\t0\na\tb#2\t0\t0\t1\n",
            "line 3: 'a' and 'b#2' were already judged on line 1; expected each pair once",
        ),
        ("flickr8k-crowd", "\n", "contains no judgments"),
        ("table", "image,grade\na,1\n", "line 1: has the columns image, grade; expected query and document"),
        ("table", "query,document,grade\na,b\n", "line 2: holds 2 cells; expected 3, as in the header"),
        ("table", "query,document,grade\na,b,nan\n", "line 2: 'nan' is not a grade; expected a finite"),
        ("table", "query,document,grade\na,,1\n", "line 2: a pair lacks an id"),
        ("table", "query,document,judge,grade\na,b,w,1\na,b,,1\n", "line 3: names a judge on some rows only"),
        ("table", "query,document,judge,grade\na,b,w,1\na,b,w,1\n", "line 3: judge 'w' already answered"),
        ("table", "query,document,yes,no\na,b,0,0\n", "line 2: .* are not counts of yes and no"),
        ("table", 'query,document,grade\n"a"x,b,1\n', "line 2: is not CSV"),
        ("table", "", "line 1: has the columns"),
        (
            "table",
            "image,caption,grade,grade\na,b,1,2\n",
            "line 1: has the column 'grade' more than once; expected each column once",
        ),
    ],
)
def test_bad_input_names_its_line_and_the_remedy(tmp_path: Path, key: str, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(key, written(tmp_path, text))


@pytest.mark.parametrize("part", ["cat=1", "dog", "dog=1|dog=2", "dog=-1"])
def test_a_keyword_count_that_is_none_is_refused(tmp_path: Path, part: str) -> None:
    written(tmp_path, "dog\n", "keywords.txt")
    with pytest.raises(FormatError, match="line 2: .* is not a count; expected keyword=number"):
        read("keyword-counts", written(tmp_path, f"utt_key,transcription,counts\nu,x,{part}\n"))


def test_a_missing_file_and_an_unknown_format_say_so(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"ExpertAnnotations.txt: cannot be opened"):
        read("flickr8k-expert", tmp_path)
    with pytest.raises(
        UnknownName, match="known: cxc-sits, flickr8k-crowd, flickr8k-expert, keyword-counts, table"
    ):
        read("xml", tmp_path)
