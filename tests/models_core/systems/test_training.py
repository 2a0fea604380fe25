"""Training by recipe: every system ranks new items, and the same way once stored; bad input is reported."""

import dataclasses

import numpy as np
import pytest

from models_core import storage
from models_core.estimators.base import DIRECTIONS
from models_core.estimators.inputs import NumbersOutOfRange
from models_core.features.image import vocabulary
from models_core.features.text.wordnet import WordNetMissing
from models_core.phase_cache import PhaseCache
from models_core.systems import recipe as recipes
from models_core.systems.caption_reading import ImageExample
from models_core.systems.cross_validation import own_ranks
from models_core.systems.dataset import Vectors, prepare
from models_core.systems.kernels import Resources
from models_core.systems.recipe import BadRecipe, Recipe
from models_core.systems.side_settings import PictureSettings
from models_core.systems.table11 import TABLE_11
from models_core.systems.trained_system import TrainedSystem
from models_core.systems.training import FitOptions, fit
from tests.models_core.systems.worlds import AIDS, examples, material, vectors
from tests.sizes import by_default

LINEAR = PictureSettings("linear", 1)


@pytest.fixture(scope="module")
def world():
    return material(60)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Twenty pictures with codebooks of a few words."""
    provided = examples(40, pictures=tmp_path_factory.mktemp("pictures"))
    paths = [example.picture for example in provided if example.picture is not None]
    books = vocabulary.learn(
        paths, vocabulary.CodebookSettings(longer_side=100, words=(6, 5, 4), pictures=8, points=60)
    )
    return prepare(provided, cache=PhaseCache(), codebooks=books)


def trained(recipe, world, aids=AIDS, **more):
    return fit(recipe, world.take(range(35)), world.take(range(35, 48)), aids, **more)


def scores_of(system, new):
    data = system.describe(new.features, new.single_captions())
    return {d: system.score(data, direction=d).array for d in DIRECTIONS}


#: Those of the table, with every fourth first.
NAMES = sorted((name for name in TABLE_11 if "Lin" not in name), key=lambda name: [*TABLE_11].index(name) % 4)


@pytest.mark.parametrize("name", by_default(8, NAMES))
def test_every_system_finds_the_right_scene(name, world):
    system = trained(dataclasses.replace(TABLE_11[name], image=LINEAR), world)
    new = world.take(range(50, 60))
    for direction, scores in scores_of(system, new).items():
        # Two of the ten share the scene; by chance the original is in the middle.
        assert np.median(own_ranks(scores)) <= 2.5, direction


def test_lin_is_computed_where_wordnet_is(world, wordnet):
    recipe = dataclasses.replace(TABLE_11["TRI5-Lin"], image=LINEAR)
    system = trained(recipe, world, Resources(wordnet=wordnet))
    assert system.texts.similarity("dog", "dog") == 1
    assert 0 < system.texts.similarity("dog", "horse") < 1
    assert len(scores_of(system, world.take(range(50, 60)))["search"]) == 10


@pytest.mark.parametrize("kernel", ["histogram", "pyramid"])
def test_words_of_pictures_tell_scenes_apart(kernel, drawn):
    recipe = Recipe("pictures", image=PictureSettings(kernel, 2))
    system = fit(recipe, drawn.take(range(20)), drawn.take(range(20, 30)))
    new = drawn.take(range(30, 40))
    for direction, scores in scores_of(system, new).items():
        assert np.median(own_ranks(scores)) <= 2.5, direction


@pytest.mark.parametrize("name", ["NN5-F1-idf", "TagRank", "TRI5SEM"])
def test_a_stored_system_ranks_new_items_as_the_fitted_one(name, world, tmp_path):
    recipe = dataclasses.replace(TABLE_11[name], image=LINEAR)
    system = trained(recipe, world, options=FitOptions(metadata={"corpus": "world", "seed": 0}))
    system.save(tmp_path / "system")
    loaded = TrainedSystem.load(tmp_path / "system")
    assert loaded.recipe == recipe
    new = world.take(range(48, 60))
    before, after = scores_of(system, new), scores_of(loaded, new)
    for direction in DIRECTIONS:
        np.testing.assert_array_equal(before[direction], after[direction])
    manifest = storage.read_manifest(tmp_path / "system")
    assert manifest["metadata"]["corpus"] == "world"
    assert {"numpy", "scipy"} <= manifest["made_with"].keys()
    assert {"numba", "HanTa"} <= manifest["metadata"]["versions"].keys()


def test_a_stored_system_of_pictures_describes_new_pictures_with_its_own_codebooks(drawn, tmp_path):
    system = fit(Recipe("pictures"), drawn.take(range(20)), drawn.take(range(20, 30)))
    system.save(tmp_path / "system")
    loaded = TrainedSystem.load(tmp_path / "system")
    provided = examples(10, pictures=tmp_path, seed=5)
    new, again = (prepare(provided, cache=PhaseCache(), codebooks=row.codebooks) for row in (loaded, system))
    np.testing.assert_array_equal(scores_of(loaded, new)["search"], scores_of(system, again)["search"])


def test_a_folder_that_lacks_a_part_of_a_system_is_no_system(tmp_path):
    storage.save_model(tmp_path / "half", "system", {"a": np.zeros(2)}, {"recipe": {"name": "x"}})
    with pytest.raises(storage.BadModel, match="lacks 'names' of a system; train it again"):
        TrainedSystem.load(tmp_path / "half")


def test_too_few_pairs_are_counted(world):
    few = world.take(range(6))
    with pytest.raises(ValueError, match="'TRI5' has 6 training images; expected 10 or more"):
        fit(TABLE_11["TRI5"], few, world.take(range(20, 40)))
    with pytest.raises(ValueError, match="'TRI5' has 6 held-out images; expected 10 or more"):
        fit(TABLE_11["TRI5"], world.take(range(20, 40)), few)
    with pytest.raises(ValueError, match="'TRI5' chooses its settings on held-out images; hold some out"):
        fit(TABLE_11["TRI5"], world, None)


def test_an_image_on_both_sides_is_named(world):
    with pytest.raises(ValueError, match="'image19.png' is both a training image and held out"):
        fit(TABLE_11["TRI5"], world.take(range(20)), world.take(range(19, 40)))


def test_a_number_that_is_none_is_named():
    invalid = vectors(12)
    invalid[3, 5] = np.nan
    with pytest.raises(ValueError, match="features of image 'image03.png' are not finite at dimension 5"):
        prepare(examples(12), cache=PhaseCache(), vectors=invalid)
    invalid[3] = 0
    with pytest.raises(ValueError, match="features of image 'image03.png' are all 0"):
        prepare(examples(12), cache=PhaseCache(), vectors=invalid)
    with pytest.raises(ValueError, match=r"features have shape \(11, 8\).*; expected numbers, \(12, dim"):
        prepare(examples(12), cache=PhaseCache(), vectors=invalid[1:])


def test_an_empty_caption_is_named():
    provided = [*examples(2), ImageExample("third.png", ("A dog .", "  "))]
    with pytest.raises(ValueError, match=r"caption 1 of image 'third.png' is empty; correct it"):
        prepare(provided, cache=PhaseCache(), vectors=vectors(3))
    with pytest.raises(ValueError, match=r"image 'none.png' has no caption"):
        prepare([ImageExample("none.png", ())], cache=PhaseCache(), vectors=vectors(1))


def test_an_image_twice_and_one_without_a_picture_are_named():
    with pytest.raises(ValueError, match="image 'image00.png' is given twice"):
        prepare([*examples(2), examples(1)[0]], cache=PhaseCache(), vectors=vectors(3))
    with pytest.raises(ValueError, match="image 'image00.png' has no picture; leave it out"):
        prepare(examples(2), cache=PhaseCache())


def test_what_a_recipe_needs_and_is_not_there_is_named(world, tmp_path):
    with pytest.raises(WordNetMissing, match=rf"no index.noun in {tmp_path}"):
        trained(TABLE_11["TRI5-Lin"], world, Resources(wordnet=tmp_path))
    with pytest.raises(BadRecipe, match="'TRI5-BNC' needs a background text"):
        trained(TABLE_11["TRI5-BNC"], world, Resources())
    with pytest.raises(BadRecipe, match="'pyramid' is for visual words, not for a feature file"):
        trained(TABLE_11["TRI5"], world)
    with pytest.raises(BadRecipe, match="'pyramid' is for visual words, not for a feature file"):
        fit(TABLE_11["NN5-F1"], world, None)  # otherwise a nearest neighbour would fail only at ranking


def test_features_of_another_width_are_refused(world):
    system = trained(Recipe("own", image=LINEAR), world)
    another = dataclasses.replace(world.features, values=np.ones((60, 3)))
    with pytest.raises(ValueError, match="features of 3 dimensions against 8"):
        system.score_pairs(another, world.single_captions(), direction="search")


def test_pictures_do_not_fit_a_recipe_of_a_feature_file(drawn):
    with pytest.raises(BadRecipe, match="'linear' needs a feature file"):
        fit(Recipe("own", image=LINEAR), drawn.take(range(20)), drawn.take(range(20, 40)))


def test_more_dimensions_than_there_are_are_cut_to_what_correlates(world):
    system = trained(Recipe("own", image=LINEAR), world)
    # Eight numbers per image correlate in at most eight dimensions.
    assert max(s.dimensions for chosen in system.model.kcca_.chosen_.values() for s in chosen) <= 8


def test_one_caption_an_image_is_learned_from_where_the_recipe_says_so(world):
    system = trained(dataclasses.replace(TABLE_11["BoW1"], image=LINEAR), world)
    assert all(len(document) == 1 for document in system.texts.documents)


def test_a_recipe_that_chooses_nothing_needs_no_held_out_images_and_one_that_chooses_names_them(tmp_path):
    world = material(30)
    chooses = recipes.of_dict("mine", {"method": "cca"})
    settled = recipes.of_dict(
        "settled", {"method": "cca", "settings": {"components": 3, "ridges": [0.1], "normalised": False}}
    )
    assert chooses.chooses and not settled.chooses
    with pytest.raises(ValueError, match="'mine' chooses its settings on held-out images; hold some out"):
        fit(chooses, world, None)
    fit(settled, world, None).save(tmp_path / "system")
    stored = TrainedSystem.load(tmp_path / "system")
    assert (stored.metadata["selection"], stored.metadata["remarks"]) == ([], [])


def test_what_was_chosen_at_the_end_of_a_grid_and_what_is_wrong_with_numbers_is_stored(tmp_path):
    world = material(50)
    assert isinstance(world.features, Vectors)
    values = np.array(world.features.values)
    values[3] = 0
    world = dataclasses.replace(world, features=Vectors(values))
    recipe = recipes.of_dict(
        "mine", {"method": "ridge", "settings": {"components": 3, "ridges": [1e-9, 1e-8], "grid_steps": 0}}
    )
    system = fit(recipe, world.take(range(35)), world.take(range(35, 50)))
    system.save(tmp_path / "system")
    metadata = TrainedSystem.load(tmp_path / "system").metadata
    (remark,) = metadata["selection"]
    assert "chosen at the end of the grid 1e-09 .. 1e-08, which was not extended" in remark
    (remark,) = metadata["remarks"]
    assert remark.startswith("1 of 35 training images have only zeros, first row 3, and rank by chance")
    with pytest.raises(NumbersOutOfRange, match="rows of the images have a length of about"):
        system.describe(Vectors(values * 1e20), [])
