"""Pictures: signed for a session, for an hour, served with one query to the database."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from PIL import Image as Pillow

from annotation.images.decoding import PictureError
from annotation.images.pictures import picture_path
from annotation.models import Corpus, Image
from annotation.web.common.addresses import LONG_SIDE, thumbnail
from annotation.workers import picture_addresses as addresses
from tests.web import world


def address_in(client: Client, size: str = "full") -> str:
    """Return the signed address in the page of scene-1."""
    page = client.get(reverse("image", args=["scenes", "scene-1"]))
    if size == "small":
        page = client.get(reverse("corpus", args=["scenes"]))
    match = re.search(rf'src="(/pictures/{size}-[^"]+)"', page.content.decode())
    assert match
    return match[1]


def test_the_file_comes_as_it_is_kept(scenes: Corpus, reader: Client):
    answer = reader.get(address_in(reader))
    stored = picture_path(Image.objects.get(key="scene-1").picture).read_bytes()
    assert answer.getvalue() == stored
    assert answer["Content-Type"] == "image/png"
    assert answer["Content-Length"] == str(len(stored))
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, max-age=3600, immutable"


def test_a_small_copy_is_made_once_and_served(scenes: Corpus, reader: Client):
    answer = reader.get(address_in(reader, "small"))
    assert answer["Content-Type"] == "image/webp"
    assert answer.getvalue()[8:12] == b"WEBP"


def test_serving_asks_the_database_once(scenes: Corpus, reader: Client, django_assert_num_queries):
    for size in ("full", "small"):
        address = address_in(reader, size)
        with django_assert_num_queries(1):
            assert reader.get(address).status_code == 200


def test_an_address_stays_the_same_for_a_while_so_that_browsers_cache(
    scenes: Corpus, reader: Client, monkeypatch: pytest.MonkeyPatch
):
    start = time.time() // addresses.LIFETIME_STEP * addresses.LIFETIME_STEP
    monkeypatch.setattr(time, "time", lambda: start + 1)
    first = address_in(reader)
    monkeypatch.setattr(time, "time", lambda: start + addresses.LIFETIME_STEP - 1)
    assert address_in(reader) == first
    monkeypatch.setattr(time, "time", lambda: start + addresses.LIFETIME_STEP)
    assert address_in(reader) != first


def test_an_address_expires(scenes: Corpus, reader: Client, monkeypatch: pytest.MonkeyPatch):
    start = time.time() // addresses.LIFETIME_STEP * addresses.LIFETIME_STEP
    monkeypatch.setattr(time, "time", lambda: start)
    address = address_in(reader)
    monkeypatch.setattr(time, "time", lambda: start + addresses.PICTURE_LIFETIME - 1)
    assert reader.get(address).status_code == 200
    monkeypatch.setattr(time, "time", lambda: start + addresses.PICTURE_LIFETIME + 1)
    answer = reader.get(address)
    assert answer.status_code == 403
    assert "has expired" in answer.content.decode()


@pytest.mark.parametrize("index", [0, 6, 40, -30, -8, -1])
def test_an_address_that_was_tampered_with_is_refused(scenes: Corpus, reader: Client, index: int):
    address = address_in(reader)
    at = index + len("/pictures/") if index >= 0 else index
    text = "0" if address[at] != "0" else "1"
    forged = address[:at] + text + (address[at + 1 :] if at != -1 else "")
    assert forged != address
    assert reader.get(forged).status_code == 403


@pytest.mark.parametrize("token", ["x", "full-x.png", "full-..:1abc:xyz", "a:b:c", "::", "full-%00:1:2"])
def test_a_made_up_address_is_refused(scenes: Corpus, reader: Client, token: str):
    assert reader.get(f"/pictures/{token}").status_code == 403


@pytest.mark.parametrize("kind", ["anonymous", "annotator", "another-researcher"])
def test_an_address_is_of_no_use_to_somebody_else(scenes: Corpus, reader: Client, kind: str):
    address = address_in(reader)
    another = {
        "anonymous": Client,
        "annotator": lambda: world.signed_in("ann", "annotator"),
        "another-researcher": lambda: world.signed_in("rea", "researcher"),
    }[kind]()
    assert another.get(address).status_code == 403


def test_signing_out_ends_the_addresses(scenes: Corpus, reader: Client):
    address = address_in(reader)
    reader.post(reverse("sign_out"))
    assert reader.get(address).status_code == 403


def test_a_signature_made_without_a_session_opens_nothing(scenes: Corpus):
    name = Image.objects.get(key="scene-1").picture
    signer = addresses._SteppedSigner(salt="annotation.picture.None")
    assert Client().get(reverse("picture", args=[signer.sign(f"full-{name}")])).status_code == 403


def test_a_picture_is_only_looked_at(scenes: Corpus, reader: Client):
    address = address_in(reader)
    assert reader.head(address).status_code == 200
    assert reader.post(address).status_code == 405


def test_a_missing_file_is_not_found(scenes: Corpus, reader: Client):
    address = address_in(reader)
    stored = picture_path(Image.objects.get(key="scene-1").picture)
    content = stored.read_bytes()
    stored.unlink()
    try:
        assert reader.get(address).status_code == 404
    finally:
        stored.write_bytes(content)


@pytest.mark.parametrize("prefix", ["/protected", "/protected/"])
def test_behind_a_proxy_the_proxy_sends_the_file(
    scenes: Corpus, reader: Client, settings: LazySettings, prefix: str
):
    settings.PICTURE_PROXY_PREFIX = prefix
    name = Image.objects.get(key="scene-1").picture
    answer = reader.get(address_in(reader))
    assert answer["X-Accel-Redirect"] == f"/protected/pictures/{name[:2]}/{name}"
    assert (answer.content, answer["Content-Type"]) == (b"", "image/png")
    small = reader.get(address_in(reader, "small"))
    assert small["X-Accel-Redirect"].startswith("/protected/thumbnails/")
    assert small["Content-Type"] == "image/webp"


@pytest.mark.parametrize(
    ("mode", "size", "expected"),
    [
        ("RGB", (1000, 500), (LONG_SIDE, LONG_SIDE // 2)),
        ("RGB", (300, 900), (133, LONG_SIDE)),
        ("RGB", (40, 30), (40, 30)),
        ("L", (800, 800), (LONG_SIDE, LONG_SIDE)),
        ("P", (800, 800), (LONG_SIDE, LONG_SIDE)),
        ("RGBA", (800, 800), (LONG_SIDE, LONG_SIDE)),
        ("1", (800, 800), (LONG_SIDE, LONG_SIDE)),
    ],
)
def test_a_small_copy_keeps_the_shape(
    tmp_path: Path, settings: LazySettings, mode: str, size: tuple[int, int], expected: tuple[int, int]
):
    settings.DATA_DIR = tmp_path
    picture = tmp_path / "pictures" / "ab" / "abc.png"
    picture.parent.mkdir(parents=True)
    Pillow.new(mode, size).save(picture)
    small = thumbnail(picture)
    assert small == tmp_path / "thumbnails" / "ab" / "abc.webp"
    with Pillow.open(small) as copy:
        assert copy.size == expected
    created = small.stat().st_mtime_ns
    assert thumbnail(picture).stat().st_mtime_ns == created


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path, settings: LazySettings):
    settings.DATA_DIR = tmp_path
    picture = tmp_path / "pictures" / "ab" / "abc.png"
    picture.parent.mkdir(parents=True)
    Pillow.new("RGB", (900, 900), "red").save(picture)
    picture.write_bytes(picture.read_bytes()[:-60])
    with pytest.raises(PictureError):
        thumbnail(picture)
    assert not [file for file in (tmp_path / "thumbnails").rglob("*") if file.is_file()]
