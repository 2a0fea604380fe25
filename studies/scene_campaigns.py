"""Generated scenes as a corpus, and open campaigns over them, for benchmarks of the queue.

Django is set up and its database migrated before any of this is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from annotation.protocol.campaign_settings import CampaignSettings
from config.sample import sample_records

if TYPE_CHECKING:
    from annotation.models import Campaign, Corpus

#: The seed of the scenes.
SCENES = 1


def imported_scenes(count: int, *, source: str, pictures: Path | None = None, seed: int = SCENES) -> Corpus:
    """Return generated scenes as the corpus "scenes", with the layer "import"; their pictures are written to
    the folder `pictures`, if set."""
    from annotation.datasets.importing import import_records
    from annotation.models import Corpus

    records = sample_records(count, seed=seed, out=pictures)
    import_records(name="scenes", records=records, format="generated", source=source)
    return Corpus.objects.get(name="scenes")


def open_scene_campaign(
    corpus: Corpus, name: str, *, seed: int, settings: CampaignSettings, first: int = 0
) -> Campaign:
    """Return an open campaign over all scenes of the corpus except the `first` ones; in batches, if its
    settings say so."""
    from annotation.campaigns.opening import open_campaign_images
    from annotation.models import Campaign
    from annotation.queue import image_rows
    from annotation.selectors.records import stream_records

    campaign = Campaign.objects.create(
        name=name,
        corpus=corpus,
        tasks="entities",
        settings=settings.as_dict(),
        state=Campaign.OPEN,
        seed=seed,
    )
    if settings.model_annotator.images_at_once:
        assert not first, "a campaign in portions is over all scenes"
        open_campaign_images(campaign=campaign)
        return campaign
    records = list(stream_records(corpus=corpus, layer=corpus.layers.get(name="import")))
    rows = {image.key: image for image in corpus.images.all()}
    opened = [(rows[r.id], r.layer.mentions) for r in records[first:] if r.layer is not None]
    image_rows.open_images(campaign=campaign, images=opened, settings=settings.protocol)
    return campaign
