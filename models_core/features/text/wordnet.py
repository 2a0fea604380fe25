"""Reader of WordNet's noun files: base forms, ordered senses, hypernyms.

It reads `index.noun`, `data.noun` and `noun.exc` of WordNet 3.0 (on Debian the package wordnet-base, in
/usr/share/wordnet) directly, without download or conversion. The index is read on first use, senses one by
one.

Source: the file formats and the detachment rules of the WordNet manual, wndb(5WN) and morphy(7WN); Fellbaum
(ed.), WordNet, 1998.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

#: The folder of Debian and Ubuntu.
DEBIAN_FOLDER = Path("/usr/share/wordnet")
WORDNET_FILES = ("index.noun", "data.noun", "noun.exc")

_DETACHMENTS = (
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)


class WordNetMissing(FileNotFoundError):
    """A folder lacks one of WordNet's noun files; the message names both and the remedy."""


@dataclass(frozen=True, slots=True)
class Synset:
    """One meaning: `offset` identifies it within `data.noun`, `words` share it, `hypernyms` are offsets.

    Words are written with spaces ("hot dog"). Instance hypernyms count as hypernyms.
    """

    offset: int
    words: tuple[str, ...]
    hypernyms: tuple[int, ...]


def singulars(word: str) -> Iterator[str]:
    """Yield possible singulars of `word` by its ending: "dishe" and "dish" for "dishes"."""
    for ending, replacement in _DETACHMENTS:
        if word.endswith(ending) and len(word) > len(ending):
            yield word[: -len(ending)] + replacement


class WordNet:
    """The nouns of one folder. Raises WordNetMissing at once if a file is missing."""

    def __init__(self, folder: Path | str = DEBIAN_FOLDER) -> None:
        self.folder = Path(folder)
        for name in WORDNET_FILES:
            if not (self.folder / name).is_file():
                raise WordNetMissing(
                    f"no {name} in {self.folder}: give the folder of WordNet 3.0's noun files "
                    "(on Debian and Ubuntu: apt-get install wordnet-base)"
                )
        self._synsets: dict[int, Synset] = {}

    def lemmas(self, word: str) -> tuple[str, ...]:
        """Return the base forms of `word` that WordNet contains, the word itself first.

        Exceptions ("geese") come before detached endings ("dogs"). Empty for unknown words.
        """
        spelling = word.lower().replace("_", " ")
        forms = (spelling, *self._exceptions.get(spelling, ()), *singulars(spelling))
        return tuple(dict.fromkeys(form for form in forms if form in self._index))

    def senses(self, word: str) -> tuple[Synset, ...]:
        """Return the meanings of `word` in WordNet's order, most frequent first; those of its first base form
        first."""
        offsets = dict.fromkeys(offset for lemma in self.lemmas(word) for offset in self._index[lemma])
        return tuple(self.synset(offset) for offset in offsets)

    def synset(self, offset: int) -> Synset:
        """Return the meaning at `offset` of `data.noun`. Raises KeyError if none starts there."""
        if offset not in self._synsets:
            self._synsets[offset] = self._read(offset)
        return self._synsets[offset]

    def hypernym_paths(self, synset: Synset) -> tuple[tuple[Synset, ...], ...]:
        """Return every path from `synset` up to a root, starting with itself."""
        above = [path for offset in synset.hypernyms for path in self.hypernym_paths(self.synset(offset))]
        return tuple((synset, *path) for path in above) or ((synset,),)

    @cached_property
    def _index(self) -> dict[str, tuple[int, ...]]:
        index: dict[str, tuple[int, ...]] = {}
        with (self.folder / "index.noun").open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(" "):  # the licence
                    continue
                fields = line.split()
                index[fields[0].replace("_", " ")] = tuple(map(int, fields[-int(fields[2]) :]))
        return index

    @cached_property
    def _exceptions(self) -> dict[str, tuple[str, ...]]:
        exceptions: dict[str, tuple[str, ...]] = {}
        for line in (self.folder / "noun.exc").read_text("utf-8").splitlines():
            plural, *bases = (form.replace("_", " ") for form in line.split())
            exceptions[plural] = tuple(bases)
        return exceptions

    def _read(self, offset: int) -> Synset:
        with (self.folder / "data.noun").open("rb") as data:
            data.seek(offset)
            fields = data.readline().decode("utf-8").partition("|")[0].split()
        if not fields or fields[0] != f"{offset:08d}":
            raise KeyError(f"no synset starts at offset {offset} of {self.folder / 'data.noun'}")
        count = int(fields[3], 16)
        words = tuple(word.replace("_", " ") for word in fields[4 : 4 + 2 * count : 2])
        pointers = fields[5 + 2 * count :]
        hypernyms = tuple(
            int(target)
            for symbol, target in zip(pointers[::4], pointers[1::4], strict=False)
            if symbol in ("@", "@i")
        )
        return Synset(offset, words, hypernyms)


def installed(folder: Path | str = DEBIAN_FOLDER) -> WordNet | None:
    """Return the WordNet of `folder`, or None if its files are missing."""
    try:
        return WordNet(folder)
    except WordNetMissing:
        return None
