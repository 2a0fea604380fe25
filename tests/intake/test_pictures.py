"""Stored pictures: what is refused, what is dropped, what is unchanged."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from annotation.images import pictures, withdrawn
from annotation.images.metadata import Malformed, without_metadata
from tests.factories import stored_picture
from tests.formats import read_there

ORIENTATION = 0x0112
CAMERA = 0x0110
SECRET = b"SECRETCAM"


def a_scene(size: tuple[int, int] = (48, 32)) -> Image.Image:
    """Return a picture with edges and colours, different in every corner."""
    picture = Image.new("RGB", size, "navy")
    picture.paste("orange", (0, 0, size[0] // 3, size[1] // 2))
    picture.paste("green", (size[0] // 2, size[1] // 2, size[0], size[1]))
    return picture


def telling(orientation: int | None = None) -> Image.Exif:
    exif = Image.Exif()
    exif[CAMERA] = SECRET.decode()
    if orientation:
        exif[ORIENTATION] = orientation
    return exif


def pixels(source: Path | bytes) -> bytes:
    with Image.open(source if isinstance(source, Path) else io.BytesIO(source)) as image:
        return image.convert("RGBA").tobytes()


def saved(path: Path, image: Image.Image, **how) -> Path:
    image.save(path, **how)
    return path


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def a_bomb(path: Path, side: int) -> Path:
    """Write a small PNG file that unpacks to `side` x `side` pixels."""
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((side // 8 + 1) * 1000), 9)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", rows) + png_chunk(b"IEND", b"")
    )
    return path


@pytest.mark.parametrize(
    ("extension", "how"),
    [
        ("jpg", {"exif": telling(), "comment": SECRET}),
        ("jpg", {"exif": telling(), "progressive": True}),
        ("png", {"exif": telling()}),
        ("webp", {"exif": telling(), "lossless": True}),
        ("webp", {"exif": telling(), "quality": 60}),
        ("gif", {"comment": SECRET}),
    ],
)
def test_metadata_is_dropped_and_every_pixel_stays(tmp_path: Path, extension: str, how: dict):
    path = saved(tmp_path / f"picture.{extension}", a_scene(), **how)
    assert SECRET in path.read_bytes()
    store_picture = stored_picture(path)
    stored = pictures.picture_path(store_picture.name)
    assert SECRET not in stored.read_bytes()
    assert pixels(stored) == pixels(path)
    assert (store_picture.width, store_picture.height) == (48, 32)
    assert stored.suffix == f".{extension}"


def test_text_in_a_png_is_dropped_and_its_palette_stays(tmp_path: Path):
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Author", SECRET.decode())
    path = saved(tmp_path / "p.png", a_scene().quantize(8), pnginfo=notes, transparency=0)
    stored = pictures.picture_path(stored_picture(path).name)
    assert SECRET not in stored.read_bytes()
    assert pixels(stored) == pixels(path)


def test_a_colour_profile_stays_because_it_decides_how_the_picture_looks(tmp_path: Path):
    path = saved(tmp_path / "p.jpg", a_scene(), icc_profile=b"a profile", exif=telling())
    stored = pictures.picture_path(stored_picture(path).name)
    with Image.open(stored) as image:
        assert image.info["icc_profile"] == b"a profile"


def test_bytes_behind_the_end_of_a_jpeg_are_cut_off(tmp_path: Path):
    path = saved(tmp_path / "p.jpg", a_scene())
    store_picture = stored_picture(path)
    path.write_bytes(path.read_bytes() + SECRET)
    assert stored_picture(path).name == store_picture.name


@pytest.mark.parametrize("orientation", [2, 3, 5, 6, 8])
@pytest.mark.parametrize("extension", ["jpg", "png", "webp"])
def test_a_turned_picture_is_stored_upright(tmp_path: Path, extension: str, orientation: int):
    path = tmp_path / f"p.{extension}"
    lossless = {"lossless": True} if extension == "webp" else {}
    a_scene().save(path, exif=telling(orientation), **({"quality": 95} if extension == "jpg" else lossless))
    store_picture = stored_picture(path)
    stored = pictures.picture_path(store_picture.name)
    assert (store_picture.width, store_picture.height) == ((32, 48) if orientation >= 5 else (48, 32))
    assert SECRET not in stored.read_bytes()
    with Image.open(stored) as image, Image.open(path) as original:
        assert ORIENTATION not in image.getexif()
        upright = {2: 0, 3: 3, 5: 5, 6: 4, 8: 2}[orientation]  # Image.Transpose of each value
        expected = original.convert("RGB").transpose(Image.Transpose(upright))
        worst = max(
            abs(a - b) for a, b in zip(image.convert("RGB").tobytes(), expected.tobytes(), strict=True)
        )
        assert worst <= (24 if extension == "jpg" else 0)


def test_the_same_picture_is_kept_once(tmp_path: Path, data_dir: Path):
    first = stored_picture(saved(tmp_path / "a.jpg", a_scene()))
    second = stored_picture(saved(tmp_path / "b.jpg", a_scene(), exif=telling()))
    assert first.name == second.name
    assert first.source != second.source
    assert len([f for f in data_dir.rglob("*") if f.is_file()]) == 1


def test_a_jpeg_with_damaged_markers_that_still_decodes_is_kept(tmp_path: Path):
    path = saved(tmp_path / "p.jpg", a_scene())
    data = path.read_bytes()
    path.write_bytes(data[:20] + b"\x00\x00" + data[20:])  # stray bytes between two segments
    with pytest.raises(Malformed):
        without_metadata(path.read_bytes(), "JPEG")
    store_picture = stored_picture(path)
    assert (store_picture.width, store_picture.height) == (48, 32)


def test_a_phone_picture_with_a_second_one_behind_it_is_kept_as_one_jpeg(tmp_path: Path):
    path = tmp_path / "p.jpg"
    a_scene().save(path, format="MPO", save_all=True, append_images=[a_scene((24, 16))])
    store_picture = stored_picture(path)
    with Image.open(pictures.picture_path(store_picture.name)) as image:
        assert (image.format, image.size) == ("JPEG", (48, 32))


@pytest.mark.parametrize(
    ("name", "make", "problem"),
    [
        ("text.jpg", lambda p: p.write_text("hello"), "is not a picture; expected a JPEG"),
        ("empty.jpg", lambda p: p.write_bytes(b""), "is not a picture"),
        (
            "drawing.bmp",
            lambda p: a_scene().save(p),
            "is not a picture; expected a JPEG, PNG, WebP or still GIF",
        ),
        ("small.png", lambda p: a_bomb(p, 8_000), "has 64.0 megapixels (8000 x 8000); expected at most 50.0"),
        ("large.png", lambda p: a_bomb(p, 60_000), "has too many pixels; expected at most 50.0 megapixels"),
        (
            "moving.gif",
            lambda p: a_scene().save(p, save_all=True, append_images=[Image.new("RGB", (48, 32), "red")]),
            "is an animation",
        ),
    ],
)
def test_what_is_no_picture_is_refused_by_name(tmp_path: Path, data_dir: Path, name, make, problem):
    make(tmp_path / name)
    with pytest.raises(pictures.PictureError) as refusal:
        stored_picture(tmp_path / name)
    assert str(refusal.value).startswith(f"{tmp_path / name}: {problem}")
    assert "\n" not in str(refusal.value)
    assert not data_dir.exists()


@pytest.mark.parametrize("extension", ["jpg", "png", "webp", "gif"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_picture_that_was_cut_short_is_refused(tmp_path: Path, extension: str, share: float):
    noise = Image.effect_noise((90, 90), 80)
    path = saved(tmp_path / f"p.{extension}", noise)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(pictures.PictureError, match="p\\."):
        stored_picture(path)


def test_a_file_beyond_the_limit_is_not_even_read(tmp_path: Path, settings: Any):
    settings.READER_MEMORY = 100  # megabytes
    path = tmp_path / "p.jpg"
    with path.open("wb") as out:
        out.truncate(6 * 10**9)
    with pytest.raises(pictures.PictureError, match="p.jpg: 5722 MiB; expected at most 64"):
        stored_picture(path)


def test_only_pictures_that_a_reader_dies_of_are_refused(monkeypatch: pytest.MonkeyPatch, data_dir: Path):
    monkeypatch.setattr(pictures, "decode_pictures", read_there.fatal_pictures)
    names = ["a", "b", "c", "fatal", "d", "e", "fatal", "fatal", "f"]
    results = pictures.check_pictures([Path(f"{name}.jpg") for name in names])
    assert [getattr(result, "name", "fatal.jpg") for result in results] == [f"{name}.jpg" for name in names]


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(pictures.PictureError, match="none.jpg: cannot be read"):
        stored_picture(tmp_path / "none.jpg")


@pytest.mark.parametrize("name", ["", "../secret.jpg", "a" * 64, "A" * 64 + ".jpg", "a" * 64 + ".exe"])
def test_a_name_that_is_none_leads_nowhere(name: str):
    with pytest.raises(pictures.PictureError, match="names no stored picture"):
        pictures.picture_path(name)


def test_staged_pictures_enter_the_store_by_publishing(tmp_path: Path, data_dir: Path):
    staged = tmp_path / "staged"
    store_picture = stored_picture(saved(tmp_path / "a.jpg", a_scene()), into=staged)
    assert not pictures.picture_path(store_picture.name).exists()
    pictures.publish_pictures(staged)
    pictures.publish_pictures(staged)
    assert pictures.picture_path(store_picture.name).is_file()
    assert not any(staged.iterdir())
    pictures.discard_picture(store_picture.name)
    pictures.discard_picture(store_picture.name)
    assert not pictures.picture_path(store_picture.name).exists()
    assert (data_dir / "pictures").is_dir(), "a proxy has it mounted"


def test_a_picture_that_was_withdrawn_while_it_was_staged_does_not_enter_the_store(
    tmp_path: Path, data_dir: Path
):
    staged = tmp_path / "staged"
    store_picture = stored_picture(saved(tmp_path / "a.jpg", a_scene()), into=staged)
    withdrawn.note_withdrawn(store_picture.name)
    pictures.publish_pictures(staged)
    assert not pictures.picture_path(store_picture.name).exists() and not any(staged.iterdir())
