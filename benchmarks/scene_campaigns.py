"""Generated scenes as a corpus, and open campaigns over them, for benchmarks of the queue.

Django is set up and its database migrated before any of this is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from annotation.protocol.campaign_settings import CampaignSettings
from annotation.synthetic_corpus.generate import generate

if TYPE_CHECKING:
    from annotation.models import Campaign, Corpus

#: The seed of the scenes.
SCENES = 1


def imported_scenes(count: int, *, source: str, pictures: Path | None = None) -> Corpus:
    """So many generated scenes as the corpus "scenes", with the layer "import"; their pictures are written to
    the folder `pictures`, where given."""
    from annotation.datasets.importing import import_records
    from annotation.models import Corpus

    records = generate(count, seed=SCENES, out=pictures)
    import_records(name="scenes", records=records, format="generated", source=source)
    return Corpus.objects.get(name="scenes")


def open_scene_campaign(
    corpus: Corpus,
    name: str,
    *,
    seed: int,
    settings: CampaignSettings,
    first: int = 0,
    images: int | None = None,
) -> Campaign:
    """An open campaign over the scenes of the corpus but the `first` ones, over so many `images` or all."""
    from annotation.models import Campaign

    campaign = Campaign.objects.create(
        name=name,
        corpus=corpus,
        tasks="entities",
        settings=settings.as_dict(),
        state=Campaign.OPEN,
        seed=seed,
    )
    open_more_scenes(campaign, settings, first=first, images=images)
    return campaign


def open_more_scenes(
    campaign: Campaign, settings: CampaignSettings, *, first: int, images: int | None
) -> None:
    """Open so many scenes of the campaign's corpus after the `first` ones, or all."""
    from annotation.queue import image_rows
    from annotation.selectors.records import stream_records

    corpus = campaign.corpus
    records = list(stream_records(corpus=corpus, layer=corpus.layers.get(name="import")))
    rows = {image.key: image for image in corpus.images.all()}
    chosen = records[first : None if images is None else first + images]
    opened = [(rows[r.id], r.layer.mentions) for r in chosen if r.layer is not None]
    image_rows.open_images(campaign=campaign, images=opened, settings=settings.protocol)
