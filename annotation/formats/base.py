"""What a corpus format is: a reader and a writer of streams of `ImageRecord`.

A format is one file in this folder, or one folder in a package that settings.FORMAT_PACKAGES names. It
registers an instance in FORMATS and touches nothing else; `import_corpus --format KEY` and `export_dataset
--format KEY` find it. `annotation.checks` names what it lacks.

A source may have several problems. Without a listener the first one ends the reading, as a FormatError. With
one, a reader tells the listener, leaves out just what is wrong (a line, an image), and goes on:

    try:
        ...
    except FormatError as error:
        report_problem(error)        # raises it again where nobody listens

What it leaves out is counted for the balance sheet: an image, unless the reader says what
(`report_problem(error, CAPTIONS)`). A file counts as read where `phrasebox.text_files` opened it; a reader
that opens files by another way adds them to `current_tally().opened`.

A format names in `Format.says` what its files can say of a record beside its id and its captions.
`checks.writable` counts the rest as left out.
"""

from abc import ABC
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from annotation.protocol.terms import ImageRecord, LayerRecord
from phrasebox.balance import CAPTIONS, NAMED_IMAGES, OF_LEFT, PROBLEM, current_tally
from phrasebox.names import FILE, KEY
from phrasebox.plug_ins import PlugInFolders
from phrasebox.registry import Registry
from phrasebox.text_files import FormatError


@dataclass(slots=True)
class Written:
    """What a writer left on disk: counts by word ("images", "captions", "boxes"), files, what they lack, and
    what is to be known of them, a sentence each."""

    counts: dict[str, int] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    #: What the records hold and the files do not, counted by the words of `contents`.
    excluded: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, word: str, number: int = 1) -> None:
        """Count `number` more of what `word` names."""
        self.counts[word] = self.counts.get(word, 0) + number

    def leave_out(self, word: str, number: int = 1) -> None:
        """Count what is not in the files; nothing where `number` is 0."""
        if number:
            self.excluded[word] = self.excluded.get(word, 0) + number


@dataclass(frozen=True, slots=True)
class SourceBox:
    """A box as another tool has it: its edges in pixels from the picture's upper left corner, with fractions.

    `label` is the class of the thing, `phrases` describe it. Boxes of one `chain` (the id that the source
    gives a thing) show one thing. Boxes of one `region` are one box of several things. `by_model`: a model
    drew it, and people accepted it."""

    left: float
    top: float
    right: float
    bottom: float
    label: str = ""
    phrases: tuple[str, ...] = ()
    chain: str = ""
    region: str = ""
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class SourceImage:
    """What a file of a layer says of an image. `names` are (name space, name) of `phrasebox.names`, and the
    first that is known counts. `width` and `height` are the picture's in whose pixels the boxes are, 0 where
    the file does not say. `layer` is what our own formats say instead of boxes. What a layer cannot hold is
    counted for the balance sheet (`layers.contents.pass_over`)."""

    names: tuple[tuple[str, str], ...]
    width: int = 0
    height: int = 0
    boxes: tuple[SourceBox, ...] = ()
    layer: LayerRecord | None = None


@dataclass(frozen=True, slots=True)
class DatasetAbout:
    """What a card says of a dataset: its name, its licence ("" where nobody said), and the datasheet, in
    Markdown."""

    name: str
    licence: str
    text: str


class Format(ABC):
    """One corpus format. A subclass sets `key` and `title` and overrides what it can do."""

    key: str
    title: str
    #: Which of the two directions exist; a command lists only those.
    reads = False
    writes = False
    #: Whether its files hold what becomes a layer of a corpus that is there (`read_layer`).
    reads_layers = False
    #: What it cannot say, which can be told before anything is written: images without a caption, and splits
    #: that are none of these (None: any will do).
    needs_captions = False
    splits: tuple[str, ...] | None = None
    #: What of `contents.RECORD_CONTENTS` its files can say; the rest is counted as left out. A format that
    #: says a part of a thing names it here, and counts itself what it leaves out.
    says: frozenset[str] = frozenset()
    #: Patterns of files that lie beside its own in published data, and that other imports read.
    companions: tuple[str, ...] = ()
    #: Whether pictures are among what its files say; else they lie beside the files, where they are wanted.
    holds_pictures = False

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        """Stream the records of `path` (a file or a folder, as the format has it).

        `images` is the folder of pictures where it is not given by the format itself; an
        image's `picture` is set only where the file exists. Raises FormatError, at the
        latest when the offending record is reached.
        """
        raise FormatError(f"format {self.key!r} cannot be read", file=path)

    def read_layer(self, path: Path) -> Iterator[SourceImage]:
        """Stream what the files of `path` say of images that a corpus has already, each image once.

        Raises FormatError. A format that reads corpora with their layers has this one.
        """
        for record in self.read(path):
            if record.layer is not None:
                names = ((KEY, record.id), (FILE, record.filename))
                yield SourceImage(names, record.width, record.height, layer=record.layer)

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write `records` under the folder `out`, which exists and is empty.

        What a record holds is in the files, or counted as left out. Raises FormatError, which names the
        image, for what the format would say wrongly.
        """
        raise FormatError(f"format {self.key!r} cannot be written", file=out)

    def add_card(self, about: DatasetAbout, written: Written, out: Path) -> None:  # noqa: B027
        """Add to `out`, and to `written`, the file in which the format's readers look for what a dataset is.

        Most have none: the datasheet beside the files says it.
        """


FORMATS: Registry[Format] = Registry("format")

#: The folder of files in the format that each added format has.
SAMPLE_FOLDER = "sample"
#: Formats of further packages: `format.py`, `sample/` and `README.md` in a folder of the format's name.
FORMAT_FOLDERS = PlugInFolders("format", also=(SAMPLE_FOLDER,))


ProblemListener = Callable[[FormatError], None]

_listening: ContextVar[ProblemListener | None] = ContextVar("problems of a source", default=None)


@contextmanager
def problems_reported_to(listener: ProblemListener) -> Iterator[None]:
    """Have readers tell `listener` what is wrong, and go on, until the context ends."""
    before = _listening.set(listener)
    try:
        yield
    finally:
        _listening.reset(before)


def report_problem(error: FormatError, kind: str = NAMED_IMAGES, *, captions: int = 0) -> None:
    """Tell the listener what is wrong; raise `error` where nobody does.

    A thing of the `kind` is left out ("": nothing), and so many `captions` of it with it."""
    tally = current_tally()
    tally.pass_over(kind, PROBLEM, bool(kind))
    tally.pass_over(CAPTIONS, OF_LEFT, captions)
    tell_problem(error)


def tell_problem(error: FormatError) -> None:
    """As `report_problem`, where what is left out was counted already."""
    listener = _listening.get()
    if listener is None:
        raise error
    listener(error)


#: Word -> how much of it a record holds: 0 or 1 of what an image has once, else how many captions, or
#: boxes that a model annotator drew.
RECORD_CONTENTS: dict[str, Callable[[ImageRecord], int]] = {
    "filenames": lambda record: 0,  # counted where they are printed
    "splits": lambda record: record.split != "",
    "sizes": lambda record: (record.width, record.height) != (0, 0),
    "external_ids": lambda record: record.external_id != "",
    "texts": lambda record: sum(caption.text != caption.text.strip() for caption in record.captions),
    "words": lambda record: sum(c.words != tuple(c.text.split()) for c in record.captions),
    "caption_ids": lambda record: sum(caption.id != "" for caption in record.captions),
    "unrelated": lambda record: sum(caption.unrelated for caption in record.captions),
    "layers": lambda record: record.layer is not None,
    "labels": lambda record: (
        sum(bool(chain.label or chain.phrases) for chain in record.layer.chains) if record.layer else 0
    ),
    "model_boxes": lambda record: (
        sum(thing.by_model for thing in record.layer.objects) if record.layer else 0
    ),
}
ALL_CONTENTS = frozenset(RECORD_CONTENTS)

#: What formats leave out that have lists of images by split: the order of images.
LEFT_OUT_ORDER = "order"
