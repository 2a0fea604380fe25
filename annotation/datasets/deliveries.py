"""Images that are added to an existing corpus, in deliveries.

A delivery is imported like a corpus, hidden under a name that no corpus can have; by one transaction its
images become the last ones of the corpus. So workers, and a process that is killed, see all of it or nothing.
"""

import hashlib
from pathlib import PurePath
from typing import Any

from django.db.models import F, Max

from annotation import audit
from annotation.datasets.corpus_uses import why_images_fixed
from annotation.datasets.source_problems import IntakeError
from annotation.formats.digest import Ledger, RepeatedImage
from annotation.images.decoding import StoredPicture
from annotation.models import Account, Corpus
from annotation.protocol.terms import ImageRecord


def hidden_name(corpus: Corpus) -> str:
    """Return the name under which a delivery to the corpus is hidden until all of it is there."""
    return f"+{corpus.pk}"


class ImageDelivery:
    """A running import that adds images to the published `corpus`."""

    def __init__(self, corpus: Corpus, source: str) -> None:
        """Raises IntakeError if the images of the corpus are fixed."""
        _check_not_fixed(corpus)
        self.corpus = corpus
        #: All that was read, also what the corpus has already: the same source, delivered again, is known.
        self.read = Ledger(source)
        rows = corpus.images.values_list("key", "picture")
        self._pictures = {picture: key for key, picture in rows if picture}
        self._keys = {key for key, _ in rows}

    def check(self, record: ImageRecord, stored: StoredPicture | None) -> None:
        """Raise RepeatedImage for an image that the corpus has, by its id or the bytes of its picture;
        IntakeError for one with chains or boxes."""
        self.read.enter(record, stored.source if stored else "")
        if record.layer is not None:
            raise IntakeError(
                f"{self.read.source}: image {record.id!r} has chains or boxes; expected pictures and "
                f"captions alone, to be added to corpus {self.corpus.name!r}"
            )
        if record.id in self._keys:
            raise RepeatedImage(
                f"{record.filename}: corpus {self.corpus.name!r} has image {record.id!r} already; "
                "expected another name, or leave the image out"
            )
        if stored is not None and (same := self._pictures.get(stored.name)) is not None:
            raise RepeatedImage(
                f"{record.filename}: this is the picture of image {same!r} of corpus {self.corpus.name!r}; "
                "expected each picture once"
            )

    @property
    def repeated(self) -> bool:
        """Whether all of it was delivered before."""
        return delivered(self.corpus, self.read.digest) is not None

    def publish(self, hidden: Corpus, ledger: Ledger, actor: Account | None) -> None:
        """Make the images of `hidden`, counted by `ledger`, the last ones of the corpus, in the caller's
        transaction. Raises IntakeError if its images are fixed by now."""
        row = Corpus.objects.select_for_update(no_key=True).get(pk=self.corpus.pk)
        _check_not_fixed(row)
        last = row.images.aggregate(last=Max("position"))["last"]
        first = 0 if last is None else last + 1
        hidden.images.update(corpus=row, position=F("position") + first)
        hidden.delete()
        about: dict[str, Any] = {"images": ledger.images, "captions": ledger.captions}
        about["digest"] = self.read.digest
        # Not the path on the server, which is private.
        source = PurePath(ledger.source).name
        row.deliveries = [*row.deliveries, {**about, "first": first, "source": source}]
        row.digest = hashlib.sha256(f"{row.digest}\n{ledger.digest}".encode()).hexdigest()
        row.image_count += ledger.images
        row.caption_count += ledger.captions
        row.save(update_fields=["deliveries", "digest", "image_count", "caption_count"])
        audit.record(actor=actor, act="add_images", corpus=row.name, **about)


def _check_not_fixed(corpus: Corpus) -> None:
    if why := why_images_fixed(corpus):
        raise IntakeError(why)


def delivered(corpus: Corpus, digest: str) -> dict[str, Any] | None:
    """Return what the corpus stores of the delivery with this digest, None if it has none."""
    return next((delivery for delivery in corpus.deliveries if delivery["digest"] == digest), None)
