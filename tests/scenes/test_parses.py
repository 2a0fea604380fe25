"""The grammar's own parses: trees of all its sentences, exported to the product as CoNLL-U."""

from __future__ import annotations

import io
from collections import Counter

import pytest
from django.core.management import call_command

from config.sample import sample_records
from evaluation.formats.conllu import read_conllu
from scenes.captions import Sentence
from scenes.generate import generate_scene
from scenes.parses import dependencies


def sentence(text: str) -> Sentence:
    """Return a sentence; mentions are in brackets, verbs after a star, and a bar begins a new part."""
    words: list[str] = []
    mentions: list[tuple[int, int, int]] = []
    verbs, parts, start = set(), set(), 0
    for piece in text.split():
        if piece == "|":
            parts.add(len(words))
            continue
        if piece.startswith("["):
            start = len(words)
        if piece.startswith("*"):
            verbs.add(len(words))
        words.append(piece.strip("[]*"))
        if piece.endswith("]"):
            mentions.append((len(mentions), start, len(words)))
    return Sentence(tuple(words), tuple(mentions), frozenset(verbs), frozenset(parts))


def described(text: str) -> str:
    """Return each word with its relation and its head."""
    read = sentence(text)
    tree = dependencies(read)
    heads = [read.words[head] if head >= 0 else "-" for head in tree.heads]
    return " ".join(
        f"{word}:{relation}:{head}"
        for word, relation, head in zip(read.words, tree.relations, heads, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[A dog] *chases [a red and white ball] | in [the park] .",
            (
                "A:det:dog dog:nsubj:chases chases:root:- a:det:ball red:amod:ball and:cc:white "
                "white:conj:red ball:obj:chases in:case:park the:det:park park:obl:chases .:punct:chases"
            ),
        ),
        (
            "[A man] in [a hat] | and [his dog] are *walking",
            (
                "A:det:man man:nsubj:walking in:case:hat a:det:hat hat:nmod:man and:cc:dog his:nmod:poss:dog "
                "dog:conj:man are:aux:walking walking:root:-"
            ),
        ),
        (
            "[Two girls] wearing [hats] *standing next to [a group of men]",
            (
                "Two:nummod:girls girls:root:- wearing:acl:girls hats:obj:wearing standing:acl:girls "
                "next:case:group to:case:group a:det:group group:obl:standing of:case:men men:nmod:group"
            ),
        ),
        (
            "At [night] , [people] *wait to *board [the bus] while [a bird] *flies by .",
            (
                "At:case:night night:obl:wait ,:punct:wait people:nsubj:wait wait:root:- to:mark:board "
                "board:xcomp:wait the:det:bus bus:obj:board while:mark:flies a:det:bird bird:nsubj:flies "
                "flies:advcl:wait by:advmod:flies .:punct:wait"
            ),
        ),
        (
            "There is [a child] *sitting on [the rug] playing [a drum] in the background",
            (
                "There:expl:is is:root:- a:det:child child:nsubj:is sitting:acl:child on:case:rug "
                "the:det:rug rug:obl:sitting playing:advcl:sitting a:det:drum drum:obj:playing "
                "in:case:background the:det:background background:obl:sitting"
            ),
        ),
    ],
)
def test_trees_are_those_of_the_sentences(text: str, expected: str):
    assert described(text) == expected


def test_every_sentence_is_one_tree_and_no_word_is_left_over():
    relations: Counter[str] = Counter()
    for index in range(40):
        for written in generate_scene(index, seed=21).sentences:
            tree = dependencies(written)
            assert tree.heads.count(-1) == 1
            above = list(tree.heads)
            for _ in tree.heads:
                above = [tree.heads[head] if head >= 0 else -1 for head in above]
            assert set(above) == {-1}, written.words
            relations.update(tree.relations)
            verbs = {tree.relations[verb] for verb in written.verbs}
            assert verbs <= {"root", "acl", "advcl", "conj", "xcomp"}
    assert "dep" not in relations and relations["nsubj"] > 100 and relations["obj"] > 50


def test_they_are_written_beside_the_corpus_as_conllu(tmp_path):
    file = tmp_path / "parses.conllu"
    call_command("make_sample", str(tmp_path / "sample"), images=3, seed=9, parses=file)
    read = list(read_conllu(file))
    records = list(sample_records(3, seed=9, parses=(again := io.StringIO())))
    assert file.read_text() == again.getvalue()
    assert [row.id for row in read] == [f"{record.id}#{n}" for record in records for n in range(5)]
    assert [" ".join(row.forms) for row in read] == [c.text for record in records for c in record.captions]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parses.conllu", "sample"]
