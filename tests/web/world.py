"""A small corpus: drawn pictures, captions with mentions, chains, boxes, two layers.

The records are imported with the functions that commands use, so the pages are tested with real rows.
"""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Any

from django.test import Client
from PIL import Image as Pillow
from PIL import ImageDraw

from annotation.common import database
from annotation.common.operations import OperationContext, operation_named, read_request
from annotation.datasets.importing import import_records
from annotation.datasets.layer_rows import LayerShare, write_layer
from annotation.models import Account, Corpus, RoleGrant
from annotation.protocol.terms import (
    NOT_VISUAL,
    Box,
    CaptionRecord,
    Chain,
    ImageRecord,
    LayerObject,
    LayerRecord,
    Mention,
)
from annotation.workers.sessions import CONFIRMED_AT
from tests import worlds

PASSWORD = "correct horse battery staple"
SIZE = (480, 360)
COLOURS = ("#3569a8", "#b8522e", "#4c8a5b", "#8a5a9c", "#c9a227")

#: A couple (chain 1) whose members are chains 2 and 3; two dogs (4); a park (5) that is scenery.
BOXES = {
    "1": (Box(60, 80, 130, 330), Box(150, 90, 220, 330)),
    "4": (Box(250, 240, 330, 320), Box(350, 250, 430, 320)),
}


def caption(text: str) -> CaptionRecord:
    return CaptionRecord(text)


def mention(number: int, text: str, phrase: str, *categories: str) -> Mention:
    """Return the mention `phrase` in caption `text` (words at white space), which is caption `number`."""
    words, expected = text.split(), phrase.split()
    start = next(i for i in range(len(words)) if words[i : i + len(expected)] == expected)
    return Mention(number, start, start + len(expected), tuple(expected), categories)


def layer_of(captions: list[str]) -> LayerRecord:
    """Return the layer of an image whose captions begin like those of `scene`."""
    first, second = captions[:2]
    return LayerRecord(
        chains=(
            Chain("1", (mention(0, first, "A couple", "people"),)),
            Chain("4", (mention(0, first, "two dogs", "animals"), mention(1, second, "dogs", "animals"))),
            Chain("5", (mention(0, first, "the park", "scene"),)),
            Chain("2", (mention(1, second, "A woman", "people"),)),
            Chain("3", (mention(1, second, "a man", "people"),)),
            Chain(NOT_VISUAL, (mention(1, second, "the background", "notvisual"),)),
        ),
        objects=(
            LayerObject(("1", "2"), BOXES["1"][0]),
            LayerObject(("1", "3"), BOXES["1"][1]),
            LayerObject(("4",), BOXES["4"][0]),
            LayerObject(("4",), BOXES["4"][1]),
            LayerObject(("5",), scene=True),
        ),
    )


def scene(number: int, folder: Path | None, *, extra: str = "") -> ImageRecord:
    """Return image `number`: the same scene in other colours, or one without a picture if `folder` is
    None."""
    captions = [
        "A couple walks two dogs in the park .",
        "A woman and a man with dogs and a tree in the background .",
        f"Picture number {number} {extra}".strip(),
    ]
    picture = None
    if folder:
        picture = folder / f"scene-{number}.png"
        draw(picture, number)
    return ImageRecord(
        id=f"scene-{number}",
        filename=f"scene-{number}.png",
        captions=tuple(caption(text) for text in captions),
        split=("train", "val", "test")[number % 3],
        width=SIZE[0],
        height=SIZE[1],
        picture=picture,
        layer=layer_of(captions),
    )


def draw(path: Path, number: int) -> None:
    """Draw a meadow under a sky, with two figures and two dogs in their boxes."""
    path.write_bytes(_drawn(number))


@functools.cache
def _drawn(number: int) -> bytes:
    picture = Pillow.new("RGB", SIZE, "#d8e6ee")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 220, *SIZE), fill="#b9cfa0")
    for i, (chain, boxes) in enumerate(BOXES.items()):
        for j, box in enumerate(boxes):
            colour = COLOURS[(number + i + 2 * j) % len(COLOURS)]
            corners = (box.xmin, box.ymin, box.xmax, box.ymax)
            if chain == "1":
                middle = (box.xmin + box.xmax) // 2
                pen.rounded_rectangle((box.xmin, box.ymin + 60, box.xmax, box.ymax), 24, fill=colour)
                pen.ellipse((middle - 28, box.ymin, middle + 28, box.ymin + 56), fill="#d9a77c")
            else:
                pen.rounded_rectangle(corners, 30, fill=colour)
    result = io.BytesIO()
    picture.save(result, "PNG")
    return result.getvalue()


def corpus(folder: Path, images: int = 3, *, name: str = "scenes", pictures: bool = True) -> Corpus:
    """Publish a corpus with the layer `import`."""

    def build() -> Corpus:
        records = [scene(number, folder if pictures else None) for number in range(images)]
        import_records(name=name, records=records, format="jsonl", source="tests")
        return Corpus.objects.get(name=name)

    folder.mkdir(parents=True, exist_ok=True)
    return worlds.again(f"scenes {worlds.digest(name, images, pictures)}", build, at_once=False)


def unfinished_layer(corpus: Corpus, *, name: str = "campaign") -> None:
    """Add a second layer: the first image's dogs are still being drawn, all other chains are closed."""
    shares = []
    for number, image in enumerate(corpus.images.order_by("position")):
        record = layer_of([caption.text for caption in image.captions.order_by("number")])
        stages = {chain.id: "BOXED" for chain in record.chains} | {"5": "NON_VISUAL"}
        if number == 0:
            stages["4"] = "DRAWING"
        shares.append(LayerShare(image.key, record, stages))
    write_layer(corpus=corpus, name=name, source="simulation", records=shares)


def perform(operation: str, actor: Account | None = None, **fields: Any) -> Any:
    """Perform an operation as an account, or as the user who runs commands; return its result."""
    declared = operation_named(operation)
    request = read_request(declared.request, fields)
    declared.authorize(request, actor)
    return declared.run(request, OperationContext(actor))


def account(name: str, *roles: str) -> Account:
    """Create an account with `roles` and the password PASSWORD."""
    created = Account.objects.create_user(username=name, password=PASSWORD)
    for role in roles:
        RoleGrant.objects.create(account=created, role=role)
    return created


def signed_in(name: str, *roles: str) -> Client:
    """Return a client of a new account with `roles`, which has just entered its password."""
    client = Client()
    client.force_login(account(name, *roles))
    return confirm(client)


def confirm(client: Client) -> Client:
    """Record that the signed-in user has just entered the password."""
    session = client.session
    session[CONFIRMED_AT] = int(database.now().timestamp())
    session.save()
    return client
