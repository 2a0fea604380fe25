"""Base class of corpus formats: readers and writers of streams of `ImageRecord`.

A format is one module in this folder, or one folder in a package of settings.FORMAT_PACKAGES. It registers an
instance in FORMATS and nothing else; `import_corpus --format KEY` and `export_dataset --format KEY` use it.
`annotation.checks` reports what it lacks.

A source may have several problems. Without a listener the first one ends the reading with a FormatError. With
one, a reader reports each problem, skips only the invalid part (a line, an image), and continues:

    try:
        ...
    except FormatError as error:
        report_problem(error)        # raises it again where nobody listens

Skipped parts are counted for the balance sheet: as an image, unless the reader specifies the kind
(`report_problem(error, CAPTIONS)`). A file counts as read if `phrasebox.text_files` opened it; a reader that
opens files differently adds them to `current_tally().opened`.

`Format.says` lists what the format's files can express of a record besides its id and its captions.
`checks.writable` counts the rest as excluded.
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
    """Files of a writer: counts by word ("images", "captions", "boxes"), files, what they lack, and notes,
    one sentence each."""

    counts: dict[str, int] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    #: Contents of the records that are not in the files, counted by the words of RECORD_CONTENTS.
    excluded: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, word: str, number: int = 1) -> None:
        """Add `number` to the count of `word`."""
        self.counts[word] = self.counts.get(word, 0) + number

    def leave_out(self, word: str, number: int = 1) -> None:
        """Add `number` to the count of excluded contents; nothing if it is 0."""
        if number:
            self.excluded[word] = self.excluded.get(word, 0) + number


@dataclass(frozen=True, slots=True)
class SourceBox:
    """A box of another tool: its edges in pixels from the picture's upper left corner, with fractions.

    `label` is the class of the thing, `phrases` describe it. Boxes of one `chain` (the source's id of a
    thing) show one thing. Boxes of one `region` are one box of several things. `by_model`: a model drew it,
    and people accepted it.
    """

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
    """An image in a layer's file.

    `names` are (name space, name) of `phrasebox.names`; the first known one counts. `width` and `height` are
    those of the picture in whose pixels the boxes are, 0 if unknown. `layer` replaces boxes in our own
    formats. What a layer cannot store is counted for the balance sheet (`layers.contents.pass_over`).
    """

    names: tuple[tuple[str, str], ...]
    width: int = 0
    height: int = 0
    boxes: tuple[SourceBox, ...] = ()
    layer: LayerRecord | None = None


class Format(ABC):
    """One corpus format. A subclass sets `key` and `title` and overrides what it can do."""

    key: str
    title: str
    #: Supported directions; a command lists only those.
    reads = False
    writes = False
    #: Whether its files contain what becomes a layer of an existing corpus (`read_layer`).
    reads_layers = False
    #: Whether a source should have captions; otherwise an image without any is no problem.
    captioned = True
    #: Limits that can be checked before anything is written: images without a caption, and splits other than
    #: these (None: any).
    needs_captions = False
    splits: tuple[str, ...] | None = None
    #: Its elements of RECORD_CONTENTS; the rest is counted as excluded. A format that expresses only a part
    #: of one lists it here, and counts itself what it excludes.
    says: frozenset[str] = frozenset()
    #: Python that loads what it writes, in the folder of an export.
    loading = ""
    #: Patterns of files that are published beside its own, and that other imports read.
    companions: tuple[str, ...] = ()
    #: Whether its files contain pictures; otherwise they are beside the files, if requested.
    holds_pictures = False

    def read(self, path: Path, *, images: Path | None = None) -> Iterator[ImageRecord]:
        """Yield the records of `path` (a file or a folder, depending on the format).

        `images` is the folder of pictures if the format does not define it; an image's `picture` is set only
        if the file exists. Raises FormatError, at the latest at the invalid record.
        """
        raise FormatError(f"format {self.key!r} cannot be read", file=path)

    def read_layer(self, path: Path) -> Iterator[SourceImage]:
        """Yield what the files of `path` contain about images of an existing corpus, each image once.

        Raises FormatError. A format that reads corpora with their layers uses this implementation.
        """
        for record in self.read(path):
            if record.layer is not None:
                names = ((KEY, record.id), (FILE, record.filename))
                yield SourceImage(names, record.width, record.height, layer=record.layer)

    def write(self, records: Iterable[ImageRecord], out: Path) -> Written:
        """Write `records` under the folder `out`, which exists and is empty.

        Everything in a record is written, or counted as excluded. Raises FormatError, which names the image,
        for anything that the format would misrepresent.
        """
        raise FormatError(f"format {self.key!r} cannot be written", file=out)

    def front_matter(self, name: str, licence: str, written: Written) -> str:
        """Return what the format's readers expect before the text of README.md, of a dataset with this name
        and licence ("" if unknown)."""
        return ""


FORMATS: Registry[Format] = Registry("format")

#: Folder of sample files that each added format has.
SAMPLE_FOLDER = "sample"
#: Formats of other packages: `format.py`, `sample/` and `README.md` in a folder of the format's name.
FORMAT_FOLDERS = PlugInFolders("format", also=(SAMPLE_FOLDER,))


ProblemListener = Callable[[FormatError], None]

_listening: ContextVar[ProblemListener | None] = ContextVar("problems of a source", default=None)


@contextmanager
def problems_reported_to(listener: ProblemListener) -> Iterator[None]:
    """Make readers report problems to `listener`, and continue, until the context ends."""
    before = _listening.set(listener)
    try:
        yield
    finally:
        _listening.reset(before)


def report_problem(error: FormatError, kind: str = NAMED_IMAGES, *, captions: int = 0) -> None:
    """Report a problem to the listener; raise `error` if there is none.

    A thing of the `kind` is skipped ("": nothing), and `captions` captions of it.
    """
    tally = current_tally()
    tally.pass_over(kind, PROBLEM, bool(kind))
    tally.pass_over(CAPTIONS, OF_LEFT, captions)
    tell_problem(error)


def tell_problem(error: FormatError) -> None:
    """Like `report_problem`, if the skipped part was counted already."""
    listener = _listening.get()
    if listener is None:
        raise error
    listener(error)


#: Contents of a record by word: 0 or 1 for what an image has once, else the number of captions, or of boxes
#: that a model annotator drew.
RECORD_CONTENTS: dict[str, Callable[[ImageRecord], int]] = {
    "filenames": lambda record: 0,  # counted where they are written
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

#: Excluded by formats with lists of images by split: the order of images.
LEFT_OUT_ORDER = "order"
