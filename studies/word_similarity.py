"""The word similarities of Hodosh et al. 2013, Figure 3, computed on Flickr8k's training captions.

    python -m studies.word_similarity FLICKR8K [--wordnet FOLDER] [--json | --csv | --latex]

Both lists of each word are shown beside the printed ones. Without WordNet's files Lin's column is empty.
"""

from __future__ import annotations

from pathlib import Path

from annotation.formats.flickr8k import Flickr8k
from models_core.features.text.lemmas import Lemmatiser
from models_core.features.text.wordnet import WordNet, WordNetMissing
from phrasebox.text_files import FormatError
from studies.hodosh.command import options_of, print_result
from studies.hodosh.evidence import LEMMAS
from studies.hodosh.figure3 import Figure3, make_figure3, tagged
from studies.hodosh.texts import similar_words_table, similar_words_text


def compute_similarities(folder: Path, wordnet_folder: Path | None = None) -> Figure3:
    """Return both lists of each word; without WordNet's files Lin's column is empty.

    Raises FormatError, and WordNetMissing if the named folder has no WordNet.
    """
    wordnet, why = None, ""
    try:
        wordnet = WordNet(wordnet_folder) if wordnet_folder else WordNet()
    except WordNetMissing as missing:
        if wordnet_folder:
            raise
        why = str(missing)
    written = {record.id: record for record in Flickr8k().read(folder) if record.split == "train"}
    if not written:
        raise FormatError("names no training images", file=folder, expected="Flickr_8k.trainImages.txt")
    file = folder / LEMMAS
    lemmas = {record.id: record for record in Flickr8k().read(file) if record.id in written}
    for key, record in written.items():
        if key not in lemmas or len(lemmas[key].captions) != len(record.captions):
            raise FormatError(
                f"has too few captions of {record.filename}", file=file, expected="those of every image"
            )
    pairs = [(record, lemmas[key]) for key, record in written.items()]
    return make_figure3(tagged(pairs, Lemmatiser()), wordnet, why_no_wordnet=why)


def main(arguments: list[str] | None = None) -> None:
    """Compute and print; exit with one line if a file cannot be read."""
    options = options_of(
        "Figure 3 of Hodosh et al. 2013", arguments, wordnet="WordNet's noun files (default: the system's)"
    )
    try:
        figure = compute_similarities(
            Path(options.folder), Path(options.wordnet) if options.wordnet else None
        )
    except (FormatError, WordNetMissing) as error:
        raise SystemExit(str(error)) from None
    print_result(figure, options, text=similar_words_text, table=similar_words_table)


if __name__ == "__main__":
    main()
