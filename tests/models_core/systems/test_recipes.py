"""Recipes by name and from files: those of Table 11, permitted changes, and what is refused."""

import dataclasses

import pytest

from models_core.features.text.background import without_captions
from models_core.systems.recipe import BadRecipe, Recipe, of_dict
from models_core.systems.recipe_files import changed_recipe, recipe_of
from models_core.systems.side_settings import TextSettings
from models_core.systems.table11 import TABLE_11
from studies.hodosh.printed_systems import PRINTED_SYSTEMS


def test_every_row_of_table_11_is_a_recipe_in_its_order():
    assert tuple(TABLE_11) == PRINTED_SYSTEMS
    assert len({recipe.digest for recipe in TABLE_11.values()}) == 30
    assert TABLE_11["TRI5SEM"].printed == "TRI5_{A,D_{BNC+ic}}^{√idf}"


def test_rows_are_made_of_what_their_names_say():
    sem = TABLE_11["TRI5SEM"]
    assert (sem.method, sem.text.kernel, sem.text.weighting) == ("kcca", "trigram", "sqrt-idf")
    assert set(sem.text.similarities) == {"alignment", "background", "ic"}
    assert TABLE_11["NN5-F1-idf"].method == "nearest-neighbour"
    assert TABLE_11["BoW1"].text.captions == 1
    assert TABLE_11["TRI5-Lin"].text.similarities == ("lin",)
    for name, recipe in TABLE_11.items():
        assert recipe.image.kernel == ("histogram" if name.endswith("-histo") else "pyramid")


def test_names_do_not_count_for_what_a_recipe_is():
    renamed = dataclasses.replace(TABLE_11["TRI5"], name="other", printed="")
    assert renamed.digest == TABLE_11["TRI5"].digest
    assert dataclasses.replace(renamed, text=TextSettings(diagonal=7.0)).digest != renamed.digest


def test_a_recipe_is_plain_data_and_back():
    for name, recipe in TABLE_11.items():
        assert of_dict(name, recipe.as_dict()) == recipe


def test_a_file_extends_a_named_recipe(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('extends = "TRI5SEM"\n[text]\ndiagonal = 5\n[selection]\nkappas = [1, 2.5]\n')
    recipe = recipe_of(str(file))
    assert recipe.name == "mine"
    assert recipe.printed == ""
    assert recipe.text == dataclasses.replace(TABLE_11["TRI5SEM"].text, diagonal=5.0)
    assert recipe.settings.kappas == (1.0, 2.5)
    assert recipe.image == TABLE_11["TRI5SEM"].image


def test_settings_are_changed_by_name_and_the_recipe_says_that_it_was():
    recipe = recipe_of("CCA")
    result = changed_recipe(recipe, {"text.words": 500, "image.normalised": True})
    assert (result.name, result.text.words, result.image.normalised) == ("CCA (changed)", 500, True)
    assert result.settings == recipe.settings and result.digest != recipe.digest
    assert changed_recipe(recipe, {}) is recipe
    assert changed_recipe(recipe, {"text.words": recipe.text.words}) is recipe
    for invalid, says in (
        ({"words": 5}, "recipe 'CCA' has no 'words'; expected a setting such as text.captions"),
        ({"text.word": 5}, "has text.word; known: words, captions"),
        ({"texts.words": 5}, "has 'texts'; known: extends, name, method, text"),
        ({"text.words": "many"}, "text.words is 'many'; expected a whole number"),
    ):
        with pytest.raises(BadRecipe, match=says):
            changed_recipe(recipe, invalid)


def test_an_unknown_recipe_lists_those_there_are():
    with pytest.raises(BadRecipe, match="unknown recipe 'TRI6'; known: NN5-F1, .*, CCA, nCCA, .*or a file"):
        recipe_of("TRI6")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('extends = "TRI9"', "extends 'TRI9'; known: NN5-F1"),
        ('name = "TRI5"', "is a recipe that there is already; give yours another name"),
        ('[text]\nkernel = "bow"', "text.kernel is 'bow'; expected one of f1, bag-of-words"),
        ("[text]\nkernels = 1", "has text.kernels; known: kernel, captions"),
        ('[text]\ndiagonal = "5"', "text.diagonal is '5'; expected a number"),
        ("[text]\ndiagonal = 0.5", "text.diagonal is 0.5; expected a number, 1 or more"),
        ("[image]\npower = true", "image.power is True; expected a whole number"),
        (
            "[selection]\nkappas = [0.0]",
            r"selection.kappas is \[0.0\]; expected a list, .*each a number, more than 0",
        ),
        ("[selection]\nkappas = []", "selection.kappas is ..; expected a list, of 1 or more"),
        ("[selection]\ncenter = 1", "selection.center is 1; expected true or false"),
        ("[selection]\npicks = inf", "selection.picks is inf; expected a whole number, 1 or more"),
        ('[text]\nsimilarities = ["ic", "ic"]', "expected each once"),
        ("method = 3", "method is 3; expected one of .*kcca, .*nearest-neighbour"),
        ("printed = 3", "printed is 3; expected text"),
        ('[text]\nsimilarities = ["lin", "ic"]', "expected lin without other"),
        ('[text]\nkernel = "bag-of-words"\nsimilarities = ["ic"]', "expected trigram where there are"),
        ('[text]\nkernel = "f1"', "expected nearest-neighbour with"),
        ('[text]\nkernel = "tag-rank"\nweighting = "idf"', "expected none for tag-rank"),
        ("text = 3", "text is 3; expected a table"),
        ("colour = 3", "has 'colour'; known: extends, name, method, text"),
        ("[text", "is not valid TOML"),
    ],
)
def test_what_a_file_gets_wrong_is_named(tmp_path, text, says):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(BadRecipe, match=says) as error:
        recipe_of(str(file))
    assert "mine" in str(error.value)
    assert "\n" not in str(error.value).strip()


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadRecipe, match="absent.toml cannot be read: No such file"):
        recipe_of(str(tmp_path / "absent.toml"))


def test_a_recipe_of_ones_own_starts_from_the_trigram_kernel():
    assert of_dict("own", {}) == Recipe("own")
    assert Recipe("own").text.kernel == "trigram"


def test_sentences_that_are_captions_are_left_out_as_their_words_are_read():
    captions = iter(["A dog runs .", "Two men's hats", "!"])
    sentences = ["a dog runs", "A DOG , runs!", "A dog runs home .", "two men 's hats", "...", "A dogs runs"]
    assert without_captions(sentences, captions) == ["A dog runs home .", "...", "A dogs runs"]
    assert without_captions(sentences, []) == sentences
