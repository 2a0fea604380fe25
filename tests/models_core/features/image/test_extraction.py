"""Words of pictures: trained once, counted once, stored by content."""

import numpy as np
import pytest
from PIL import Image

from models_core.features.image.extraction import Cache, extract
from models_core.features.image.pictures import BadPicture, read_picture
from models_core.features.image.pyramid import histogram
from models_core.features.image.vocabulary import Vocabulary, learn
from tests.models_core.features.image.conftest import SMALL, draw


def named(paths):
    return [(path.name, path) for path in paths]


def test_codebooks_depend_on_seed_and_content_not_on_names_or_order(paths, vocabulary, tmp_path):
    moved = []
    for index, path in enumerate(reversed(paths)):
        moved.append(tmp_path / f"other{index}.png")
        moved[-1].write_bytes(path.read_bytes())
    again = learn(moved, SMALL)
    assert again.digest == vocabulary.digest
    for ours, theirs in zip(vocabulary.centres, again.centres, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_every_point_is_counted(paths, vocabulary):
    colours, textures, shapes = vocabulary.split(vocabulary.counts(read_picture(paths[0])))
    assert (colours.shape, textures.shape, shapes.shape) == ((16, 8), (16, 10), (16, 12))
    assert colours.sum() == textures.sum() == 64 * 48
    assert shapes.sum() == 16 * 12


def test_alike_pictures_share_words(paths, vocabulary, tmp_path):
    counts = np.stack([result.counts for result in extract(named(paths), vocabulary, tmp_path)])
    for kind in vocabulary.split(counts):
        shares = histogram(kind)
        alike = np.minimum(shares[:, None], shares).sum(axis=2)
        kin = np.arange(8)[:, None] % 2 == np.arange(8) % 2
        assert alike[kin].mean() > alike[~kin].mean() + 0.2


def test_work_goes_on_where_it_was_stopped(paths, vocabulary, tmp_path):
    def stop_after_three(done, of):
        assert of == 8
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(extract(named(paths), vocabulary, tmp_path, total=8, progress=stop_after_three))
    messages = []
    rest = list(
        extract(named(paths), vocabulary, tmp_path, total=8, progress=lambda *at: messages.append(at))
    )
    assert [result.name for result in rest] == [path.name for path in paths]
    assert [result.cached for result in rest[:3]] == [True] * 3
    assert messages[-1] == (8, 8)
    for result, path in zip(rest, paths, strict=True):
        np.testing.assert_array_equal(result.counts, vocabulary.counts(read_picture(path)))


def test_the_cache_knows_pictures_by_content(paths, vocabulary, tmp_path):
    list(extract(named(paths[:1]), vocabulary, tmp_path / "cache"))
    copy = tmp_path / "copy.png"
    copy.write_bytes(paths[0].read_bytes())
    assert next(extract([("copy", copy)], vocabulary, tmp_path / "cache")).cached
    Image.open(copy).rotate(90).save(copy)
    assert not next(extract([("copy", copy)], vocabulary, tmp_path / "cache")).cached


def test_a_damaged_entry_is_computed_again(paths, vocabulary, tmp_path):
    first = next(extract(named(paths[:1]), vocabulary, tmp_path))
    file = next(tmp_path.rglob("*.npz"))
    for damaged in (file.read_bytes()[:-40], b"", b"nonsense"):
        file.write_bytes(damaged)
        again = next(extract(named(paths[:1]), vocabulary, tmp_path))
        assert not again.cached
        np.testing.assert_array_equal(again.counts, first.counts)


def test_other_settings_have_other_entries(paths, vocabulary, tmp_path):
    other_vocabulary = Vocabulary(tuple(centres + 1 for centres in vocabulary.centres), vocabulary.settings)
    digest = next(extract(named(paths[:1]), vocabulary, tmp_path)).digest
    assert Cache(tmp_path, vocabulary).get(digest) is not None
    assert Cache(tmp_path, other_vocabulary).get(digest) is None


def test_a_broken_picture_is_named_and_the_others_before_it_are_kept(paths, vocabulary, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(paths[0].read_bytes()[:100])
    stream = extract(named([*paths[:2], broken]), vocabulary, tmp_path / "cache")
    assert [next(stream).name, next(stream).name] == ["0.png", "1.png"]
    with pytest.raises(BadPicture, match="broken.png cannot be read"):
        next(stream)


def test_a_stored_vocabulary_counts_the_same(paths, vocabulary, tmp_path):
    vocabulary.save(tmp_path / "words", {"corpus": "abc"})
    again = Vocabulary.load(tmp_path / "words")
    assert again.digest == vocabulary.digest
    np.testing.assert_array_equal(
        again.counts(read_picture(paths[1])), vocabulary.counts(read_picture(paths[1]))
    )


def test_too_few_pictures_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no pictures were given"):
        learn([], SMALL)
    plain_value = tmp_path / "plain.png"
    Image.new("RGB", (64, 64), (9, 9, 9)).save(plain_value)
    with pytest.raises(ValueError, match="8 clusters were requested, but there are only 1 different points"):
        learn([plain_value], SMALL)
    assert draw(tmp_path / "a.png", "noise", 0).exists()


def test_photographs_are_counted_whole(vocabulary, tmp_path, real_data):
    some = sorted((real_data / "flickr8k" / "thumbnails").glob("*.jpg"))[:6]
    result = list(extract(named(some), vocabulary, tmp_path))
    for counted in result:
        colours, textures, _ = vocabulary.split(counted.counts)
        assert colours.sum() == textures.sum() > 16 * 64
