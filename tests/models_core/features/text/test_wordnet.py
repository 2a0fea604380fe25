"""WordNet's noun files, read from disk."""

import pytest

from models_core.features.text.wordnet import WORDNET_FILES, WordNet, WordNetMissing, installed, singulars


@pytest.fixture(scope="module")
def nouns(wordnet):
    return WordNet(wordnet)


def words(synset):
    return synset.words[0]


def test_senses_come_in_their_order(nouns):
    senses = nouns.senses("bank")
    assert words(senses[0]) == "bank" and "depository financial institution" in senses[1].words
    assert len(senses) == 10


def test_a_word_and_its_plural_have_the_same_first_sense(nouns):
    for item, many in (("dog", "dogs"), ("goose", "geese"), ("church", "churches"), ("party", "Parties")):
        assert nouns.senses(item)[0] == nouns.senses(many)[0]


def test_base_forms_put_the_word_first_then_exceptions_then_endings(nouns):
    assert nouns.lemmas("glasses") == ("glasses", "glass")
    assert nouns.lemmas("axes") == ("ax", "axis", "axe")
    assert nouns.lemmas("firemen") == ("fireman",)


def test_compounds_are_written_with_spaces_and_may_be_plural(nouns):
    assert nouns.lemmas("fire engines") == ("fire engine",)
    assert nouns.lemmas("hot_dog") == ("hot dog",)


def test_an_unknown_word_has_no_senses(nouns):
    assert nouns.lemmas("xyzzy") == () and nouns.senses("xyzzy") == ()


def test_every_way_up_ends_at_the_root(nouns):
    paths = nouns.hypernym_paths(nouns.senses("dog")[0])
    assert len(paths) == 2
    assert all(words(path[0]) == "dog" and words(path[-1]) == "entity" for path in paths)
    assert {"animal"} <= {words(s) for s in paths[0]} & {words(s) for s in paths[1]}


def test_an_instance_has_hypernyms(nouns):
    above = {words(s) for path in nouns.hypernym_paths(nouns.senses("Paris")[0]) for s in path}
    assert "national capital" in above


def test_an_offset_between_synsets_is_refused(nouns):
    with pytest.raises(KeyError, match="no synset starts at offset 3 "):
        nouns.synset(3)


@pytest.mark.parametrize("missing", WORDNET_FILES)
def test_a_folder_without_a_file_is_refused_by_name(tmp_path, missing):
    for name in WORDNET_FILES:
        if name != missing:
            (tmp_path / name).touch()
    with pytest.raises(WordNetMissing, match=f"no {missing} in {tmp_path}: .*wordnet-base"):
        WordNet(tmp_path)
    assert installed(tmp_path) is None


def test_endings_tell_what_a_plural_may_come_from():
    assert set(singulars("dishes")) == {"dishe", "dish"}
    assert set(singulars("wolves")) == {"wolve", "wolf"}
    assert set(singulars("men")) == set()
    assert set(singulars("sheep")) == set()
