"""METEOR: its protocol, messages if it is missing or fails, and the real one if it is installed."""

from __future__ import annotations

import json
import math
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from phrasebox.metrics.meteor import (
    MeteorFailed,
    MeteorMissing,
    Program,
    _places,
    find_program,
    meteor,
    meteor_of,
)

CANDIDATES = ["a dog runs", "two boys ||| play\nball", "", "a café"]
REFERENCES = [["the dog ran", "a dog runs fast"], ["boys play"], ["a cat"], ["a café"]]

#: A recorded session with the real program, version 1.5, which takes nine seconds to start: the input, its
#: statistics, and its scores of each item and of all.
TEXTS = ["a dog runs through the snow", "two boys are playing with a red ball", "a man"]
OTHERS = [["a brown dog is running in snow", "the dog runs"], ["children play ball"], ["the woman sings"]]
REQUESTS = [
    "a brown dog is running in snow ||| the dog runs ||| a dog runs through the snow",
    "children play ball ||| two boys are playing with a red ball",
    "the woman sings ||| a man",
]
COUNTED = [
    "6.0 3.0 2.0 1.0 2.0 2.0 1.0 1.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 2.0 3.0 3.0",
    "8.0 3.0 4.0 0.0 1.0 1.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 2.0 2.0 1.0 0.0 2.0 4.0 3.0",
    "2.0 3.0 1.0 1.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0",
]
SCORED = "0.38846543748779433\n0.31059011936998926\n0.0\n0.253538779519744"


def test_items_and_corpus_come_from_the_programs_statistics(stand_in: Path) -> None:
    result = meteor(CANDIDATES, REFERENCES)
    assert result.items.tolist() == [1.0, 0.5, 0.0, 1.0]
    assert result.corpus == (3 + 2 + 0 + 2) / (3 + 4 + 0 + 2)


def test_scores_of_sums_are_those_of_the_program() -> None:
    """The recorded session has the program's own scores: of each item, and of the sums of all."""
    counts = np.array([list(map(float, line.split())) for line in COUNTED])
    rows = np.concatenate([counts, counts.sum(axis=0, keepdims=True)])
    assert meteor_of(rows).tolist() == pytest.approx([float(line) for line in SCORED.splitlines()], abs=1e-15)
    whole = np.zeros((1, 23))
    whole[0, [0, 1, 4, 5, 20, 21, 22]] = 3, 3, 3, 3, 1, 3, 3
    assert meteor_of(whole).tolist() == [1.0], "the same sentence has no penalty"
    assert meteor_of(np.zeros((1, 23))).tolist() == [0.0]


def test_the_program_is_called_as_the_coco_evaluation_calls_it(stand_in: Path) -> None:
    meteor(CANDIDATES, REFERENCES)
    arguments = json.loads(stand_in.read_text())
    assert arguments[-6:] == ["-", "-", "-stdio", "-l", "en", "-norm"]
    assert arguments[arguments.index("-jar") + 1] == str(stand_in.parent / "meteor-1.5.jar")


def test_thousands_of_items_do_not_block_each_other(stand_in: Path) -> None:
    """Far more than a pipe holds goes to and fro."""
    result = meteor(["a dog runs on grass"] * 5000, [["a dog runs"]] * 5000)
    assert result.items.tolist() == [0.6] * 5000
    assert result.corpus == 0.6


def test_nothing_to_score_starts_no_program() -> None:
    result = meteor([], [], program=Program(Path("absent"), Path("absent")))
    assert math.isnan(result.corpus) and not len(result.items)


@pytest.mark.parametrize(
    ("java", "message"),
    [
        (
            "echo 'Error: Unable to access jarfile' >&2; exit 1",
            "scored everything: Error: Unable to access",
        ),
        ("exit 3", "scored everything: status"),
        ("read line; echo 1 2; read line; echo oops", "answered 'oops' where a score was expected"),
        ("read line; echo 1 2; read line; echo 0.5", "METEOR stopped before it had scored everything"),
    ],
)
def test_a_program_that_fails_is_told_in_one_line(tmp_path: Path, java: str, message: str) -> None:
    script = tmp_path / "java"
    script.write_text(f"#!/bin/sh\n{java}\n")
    script.chmod(0o755)
    with pytest.raises(MeteorFailed, match=message) as error:
        meteor(["a dog"], [["a dog"]], program=Program(script, tmp_path / "meteor.jar"))
    assert "\n" not in str(error.value)


def test_what_is_missing_is_told_with_its_remedy(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_places, "jar", "absent.jar")
    with pytest.raises(
        MeteorMissing,
        match="METEOR_JAR is 'absent.jar', but there is no such file: give the path of meteor-1.5.jar",
    ):
        find_program()
    monkeypatch.setattr(_places, "jar", "")
    monkeypatch.setattr("phrasebox.metrics.meteor.find_spec", lambda name: None)
    with pytest.raises(
        MeteorMissing, match="METEOR needs meteor-1.5.jar: give its path in METEOR_JAR, install"
    ):
        find_program()
    monkeypatch.setattr(_places, "java_home", "")
    monkeypatch.setenv("PATH", str(stand_in.parent))
    with pytest.raises(
        MeteorMissing, match="needs a Java runtime.*default-jre-headless.*or leave METEOR out"
    ):
        meteor(CANDIDATES, REFERENCES)


def test_without_a_name_the_jar_of_the_package_is_taken(
    stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "package" / "meteor" / "meteor-1.5.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    package = ModuleSpec("pycocoevalcap", None, is_package=True)
    package.submodule_search_locations = [str(tmp_path / "elsewhere"), str(jar.parent.parent)]
    monkeypatch.setattr(_places, "jar", "")
    monkeypatch.setattr("phrasebox.metrics.meteor.find_spec", lambda name: package)
    assert find_program().jar == jar


def test_texts_that_do_not_fit_are_refused(stand_in: Path) -> None:
    with pytest.raises(ValueError, match="1 candidates but references for 2 items"):
        meteor(["a"], [["a"], ["b"]])


def test_what_the_true_program_was_asked_and_answered_gives_what_the_coco_evaluation_gives(
    tmp_path: Path,
) -> None:
    """A stand-in that knows these questions alone, word for word, and ends at any other."""
    answers = dict(
        zip([*(f"SCORE ||| {about}" for about in REQUESTS), "EVAL"], [*COUNTED, SCORED], strict=True)
    )
    answers[f"EVAL ||| {' ||| '.join(COUNTED)}"] = answers.pop("EVAL")
    script = tmp_path / "java"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nanswers = {answers!r}\n"
        "for line in sys.stdin:\n    print(answers[line.rstrip('\\n')], flush=True)\n"
    )
    script.chmod(0o755)
    result = meteor(TEXTS, OTHERS, program=Program(script, tmp_path / "meteor-1.5.jar"))
    # Those of pycocoevalcap, which calls the same program.
    assert result.items == pytest.approx([0.38846543748779433, 0.31059011936998926, 0.0])
    assert result.corpus == pytest.approx(0.253538779519744)


@pytest.mark.slow
def test_the_true_program_gives_what_the_coco_evaluation_gives_or_says_what_it_lacks() -> None:
    """Not left out without Java: then the message is what there is to test."""
    texts, others = TEXTS, OTHERS
    try:
        find_program()
    except MeteorMissing as missing:
        assert "or leave METEOR out" in str(missing)
        return
    from pycocoevalcap.meteor.meteor import Meteor

    theirs = Meteor()  # loads its tables while ours does
    ours = meteor(texts, others)
    numbers = range(len(texts))
    corpus, items = theirs.compute_score({n: others[n] for n in numbers}, {n: [texts[n]] for n in numbers})
    for pipe in (theirs.meteor_p.stdout, theirs.meteor_p.stderr):
        pipe.close()
    assert ours.items == pytest.approx(np.array(items))
    assert ours.corpus == pytest.approx(corpus)
    assert ours.items[0] > ours.items[1] > ours.items[2] == 0
