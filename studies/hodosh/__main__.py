"""The tables of Hodosh et al. 2013, recomputed from Flickr8k's published files.

    python -m studies.hodosh FLICKR8K [--json | --csv | --latex]

The folder contains Flickr8k's captions, raw and lemmatised, and both files of judgments. Every cell is shown
beside the printed one. docs/reproduction.md lists the conventions that reproduce them.
"""

from __future__ import annotations

from pathlib import Path

from phrasebox.text_files import FormatError
from studies.hodosh.command import options_of, print_result
from studies.hodosh.evidence import Evidence
from studies.hodosh.report import reproduce
from studies.hodosh.texts import reproduced_table, reproduced_text


def main(arguments: list[str] | None = None) -> None:
    """Compute and print; exit with one line if a file cannot be read."""
    options = options_of("The tables of Hodosh et al. 2013", arguments)
    try:
        report = reproduce(Evidence.read(Path(options.folder)))
    except FormatError as error:
        raise SystemExit(str(error)) from None
    print_result(report, options, text=reproduced_text, table=reproduced_table)


if __name__ == "__main__":
    main()
