"""Images that are added to an existing corpus, in deliveries, and captions of images that have none yet.

A delivery is imported like a corpus, hidden under a name that no corpus can have; by one transaction its
images become the last ones of the corpus, and captions those of the images that are there. So workers, and a
process that is killed, see all of it or nothing.
"""

import hashlib
from pathlib import PurePath
from typing import Any

from django.db.models import Exists, F, Max, OuterRef, QuerySet, Subquery

from annotation import audit
from annotation.datasets.corpus_uses import why_images_fixed
from annotation.datasets.source_problems import IntakeError
from annotation.formats.digest import Ledger, RepeatedImage
from annotation.images.decoding import StoredPicture
from annotation.models import Account, Caption, Corpus, Image, OpenImage, PlannedImage
from annotation.protocol.terms import ImageRecord

#: Positions of hidden images that the corpus has, which only bring captions: after all others.
_APART = 2**30


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
        rows = corpus.images.values_list("key", "picture", "split")
        self._pictures = {picture: key for key, picture, _ in rows if picture}
        self._images = {key: (picture, split) for key, picture, split in rows}
        self._new = self._captioned = 0
        self._uncaptioned = set(_uncaptioned(corpus).values_list("key", flat=True))

    def check(self, record: ImageRecord, stored: StoredPicture | None) -> None:
        """Raise RepeatedImage for an image that the corpus has, by its id or the bytes of its picture, unless
        it has no captions and the record has; IntakeError for one with chains or boxes."""
        self.read.enter(record, stored.source if stored else "")
        if record.layer is not None:
            raise IntakeError(
                f"{self.read.source}: image {record.id!r} has chains or boxes; expected pictures and "
                f"captions alone, to be added to corpus {self.corpus.name!r}"
            )
        if record.id in self._images:
            self._check_captions(record, stored)
        elif stored is not None and (same := self._pictures.get(stored.name)) is not None:
            raise RepeatedImage(
                f"{record.filename}: this is the picture of image {same!r} of corpus {self.corpus.name!r}; "
                "expected each picture once"
            )

    def _check_captions(self, record: ImageRecord, stored: StoredPicture | None) -> None:
        """Raise RepeatedImage unless the record brings the captions of an image that is there."""
        there = f"{record.filename}: corpus {self.corpus.name!r} has image {record.id!r} already"
        picture, split = self._images[record.id]
        if not record.captions:
            raise RepeatedImage(f"{there}; expected another name, or leave the image out")
        if record.id not in self._uncaptioned:
            raise RepeatedImage(
                f"{there}, and it has captions, or a campaign asks about it; expected another name, or leave "
                "the image out"
            )
        if stored is not None and stored.name != picture:
            raise RepeatedImage(f"{there}, with another picture; expected the same one, or captions alone")
        if record.split not in ("", split):
            raise RepeatedImage(f"{there}, in split {split!r}; expected no other split")

    def next_position(self, record: ImageRecord) -> int:
        """Return the position among the hidden images of a record that was checked."""
        if record.id in self._images:
            self._captioned += 1
            return _APART + self._captioned
        self._new += 1
        return self._new - 1

    @property
    def repeated(self) -> bool:
        """Whether all of it was delivered before."""
        return delivered(self.corpus, self.read.digest) is not None

    def publish(self, hidden: Corpus, ledger: Ledger, actor: Account | None) -> None:
        """Make the images of `hidden`, counted by `ledger`, the last ones of the corpus, in the caller's
        transaction. Raises IntakeError if its images are fixed by now."""
        row = Corpus.objects.select_for_update(no_key=True).get(pk=self.corpus.pk)
        _check_not_fixed(row)
        captioned = _move_captions(hidden, row)
        last = row.images.aggregate(last=Max("position"))["last"]
        first = 0 if last is None else last + 1
        hidden.images.update(corpus=row, position=F("position") + first)
        hidden.delete()
        about: dict[str, Any] = {"images": ledger.images - captioned, "captions": ledger.captions}
        about |= {"captioned": captioned, "digest": self.read.digest}
        # Not the path on the server, which is private.
        source = PurePath(ledger.source).name
        row.deliveries = [*row.deliveries, {**about, "first": first, "source": source}]
        row.digest = hashlib.sha256(f"{row.digest}\n{ledger.digest}".encode()).hexdigest()
        row.image_count += about["images"]
        row.caption_count += ledger.captions
        row.save(update_fields=["deliveries", "digest", "image_count", "caption_count"])
        audit.record(actor=actor, act="add_images", corpus=row.name, **about)


def _uncaptioned(corpus: Corpus) -> QuerySet[Image]:
    """Return the images that may get captions: they have none, and no campaign asks about them."""
    of_image = OuterRef("pk")
    return corpus.images.filter(
        ~Exists(Caption.objects.filter(image=of_image)),
        *(~Exists(model.objects.filter(image=of_image)) for model in (OpenImage, PlannedImage)),
    )


def _move_captions(hidden: Corpus, corpus: Corpus) -> int:
    """Move the captions of the images that `corpus` has from `hidden` to them; return how many images got
    captions. Raises IntakeError if some of them may get none by now."""
    there = hidden.images.filter(position__gte=_APART)
    keys = set(there.values_list("key", flat=True))
    if late := sorted(keys - set(_uncaptioned(corpus).values_list("key", flat=True))):
        raise IntakeError(
            f"image {late[0]!r} of corpus {corpus.name!r} has captions by now, or a campaign asks about it; "
            "leave it out"
        )
    key = Image.objects.filter(pk=OuterRef(OuterRef("image_id"))).values("key")
    image = corpus.images.filter(key=Subquery(key)).values("pk")
    Caption.objects.filter(image__in=there.values("pk")).update(image_id=Subquery(image))
    there.delete()
    return len(keys)


def _check_not_fixed(corpus: Corpus) -> None:
    if why := why_images_fixed(corpus):
        raise IntakeError(why)


def delivered(corpus: Corpus, digest: str) -> dict[str, Any] | None:
    """Return what the corpus stores of the delivery with this digest, None if it has none."""
    return next((delivery for delivery in corpus.deliveries if delivery["digest"] == digest), None)
