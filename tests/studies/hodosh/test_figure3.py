"""Figure 3's similarities are reproduced from Flickr8k's training captions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from annotation.common.operations import read_result
from models_core.features.text.distributional import distributional
from models_core.features.text.lemmas import NOUN, VERB, Word, content
from models_core.features.text.lin import Lin
from models_core.features.text.wordnet import WordNet
from studies import word_similarity
from studies.hodosh.cells import KAPPA, tolerance
from studies.hodosh.figure3 import (
    ALIGNMENT,
    BNC,
    CAPTIONS,
    LIN,
    PRINTED_FIGURE3,
    Figure3,
    make_figure3,
)


@pytest.fixture(scope="module")
def captions(real_data: Path) -> list[tuple[str, ...]]:
    folder = real_data / "flickr8k"
    training = set((folder / "Flickr_8k.trainImages.txt").read_text().split())
    lines = (folder / "Flickr8k.lemma.token.txt").read_text().splitlines()
    return [
        content(text) for key, text in (line.split("\t") for line in lines) if key.split("#")[0] in training
    ]


def near(column: str, value) -> int:
    """Return how many printed similarities of a column are within tolerance."""
    return sum(
        abs(value(word, another) - printed) <= tolerance(printed, KAPPA)
        for word, values in PRINTED_FIGURE3[column].items()
        for another, printed in values.items()
    )


def test_distributional_similarities_are_the_printed_ones_for_all_ten_words(captions) -> None:
    kernel = distributional(captions)
    assert len(kernel.words) == 1928
    assert near(CAPTIONS, kernel) == 10


def test_lin_s_are_for_eight_of_ten(captions, wordnet) -> None:
    lin = Lin(WordNet(wordnet), Counter(lemma for words in captions for lemma in words))
    assert near(LIN, lin.similarity) >= 8


@pytest.mark.slow
def test_the_command_finds_eight_aligned_words_of_ten_and_has_no_bnc(real_data, wordnet, capsys) -> None:
    word_similarity.main([str(real_data / "flickr8k"), "--json"])
    figure = read_result(Figure3, json.loads(capsys.readouterr().out))
    assert figure.count_listed(ALIGNMENT) >= 8
    assert figure.within(CAPTIONS) == 10
    assert figure.within(LIN) >= 8
    missing = [neighbour.cell for neighbour in figure.neighbours if neighbour.cell.column == BNC]
    assert len(missing) == 10
    assert all(cell.ours is None and "British National Corpus" in cell.why for cell in missing)
    ours = {cell.row: cell.ours for cell in figure.sizes}
    assert ours["words of frequency 5 or more"] == 1928
    assert ours["nouns"] == pytest.approx(1180, abs=30)
    assert ours["verbs"] == pytest.approx(143, abs=10)


def test_without_wordnet_and_without_the_words_columns_say_why() -> None:
    image = [[Word("dog", NOUN), Word("run", VERB)]] * 6
    result = make_figure3([image], None, why_no_wordnet="no noun files")
    assert result.within(LIN) == result.count_listed(ALIGNMENT) == 0
    why = {n.cell.column: n.cell.why for n in result.neighbours}
    assert why[LIN] == "no noun files"
    assert why[ALIGNMENT] == "not in our vocabulary"
    assert all(n.cell.ours is None and n.rank is None for n in result.neighbours)


def test_folders_without_what_is_needed_are_refused_in_one_line(tmp_path) -> None:
    (tmp_path / "Flickr8k.token.txt").write_text("a.jpg#0\tA dog .\n")
    with pytest.raises(SystemExit, match="names no training images"):
        word_similarity.main([str(tmp_path)])
    with pytest.raises(SystemExit, match="no index.noun in .*wordnet-base") as error:
        word_similarity.main([str(tmp_path), "--wordnet", str(tmp_path)])
    assert "\n" not in str(error.value)
    (tmp_path / "Flickr_8k.trainImages.txt").write_text("a.jpg\n")
    (tmp_path / "Flickr8k.lemma.token.txt").write_text("b.jpg#0\ta dog .\n")
    with pytest.raises(SystemExit, match="has too few captions of a.jpg"):
        word_similarity.main([str(tmp_path)])
