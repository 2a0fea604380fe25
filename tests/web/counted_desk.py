"""A campaign whose votes are only counted, over drawn pictures, and ann who answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotation import campaigns, instructions
from annotation.models import Campaign, Identity, Worker
from annotation.protocol.paging import Pair
from tests import worlds
from tests.factories import a_corpus, an_image
from tests.queue.world import TRUSTING
from tests.web import world

#: Number of images per page of `relevance` here: one position is reserved for a control image, and there is
#: none.
PICTURES, SENTENCES = 5, 10


def campaign(
    folder: Path, tasks: str, *, settings: Mapping[str, Any] = TRUSTING, images: int = 15
) -> Campaign:
    """Open the campaign `quay` of `tasks` over pictures with five captions each; the account `ann` works."""

    def build() -> Campaign:
        records = []
        for number in range(images):
            picture = folder / f"i{number}.png"
            world.draw(picture, number)
            captions = [
                f"Two people walk {act} with two dogs on day {number} ."
                for act in ("slowly", "across a meadow", "side by side under a pale sky", "home", "far")
            ]
            records.append(an_image(f"i{number}", *captions, layered=False, size=world.SIZE, picture=picture))
        a_corpus("quay", records)
        created = campaigns.create_campaign(
            name="quay", corpus="quay", tasks=tasks, settings=dict(settings), open_to_all=True
        )
        if campaigns.asks_pairs(tasks):
            theirs = [(n, k) for n in range(images) for k in range(SENTENCES)]
            pairs = [Pair(f"i{n}", f"i{(n + k // 5) % images}#{k % 5}") for n, k in theirs]
            campaigns.open_pairs(campaign=created, pairs=pairs)
        else:
            campaigns.open_campaign_images(campaign=created)
        campaigns.begin_campaign(campaign=created)
        instructions.publish_text(campaign=created, kind=instructions.CONSENT, text="")
        ann = Worker.objects.create(pseudonym="w-ann")
        Identity.objects.create(worker=ann, account=world.account("ann", "annotator"))
        return created

    folder.mkdir(parents=True, exist_ok=True)
    return worlds.again(f"a counted desk {worlds.digest(tasks, settings, images)}", build, at_once=False)
