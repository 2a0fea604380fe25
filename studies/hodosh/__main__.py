"""The tables of Hodosh et al. 2013, computed again from Flickr8k's published files.

    python -m studies.hodosh FLICKR8K [--json | --csv | --latex]

The folder holds Flickr8k's captions, as written and lemmatised, and both files of judgments. Every cell
stands beside what was printed. docs/reproduction.md says which conventions make it come out.
"""

from __future__ import annotations

from pathlib import Path

from phrasebox.text_files import FormatError
from studies.hodosh.command import options_of, print_result
from studies.hodosh.evidence import Evidence
from studies.hodosh.report import reproduce
from studies.hodosh.texts import reproduced_table, reproduced_text


def main(arguments: list[str] | None = None) -> None:
    """Compute and print; exits with one line where a file cannot be read."""
    options = options_of("The tables of Hodosh et al. 2013", arguments)
    try:
        report = reproduce(Evidence.read(Path(options.folder)))
    except FormatError as error:
        raise SystemExit(str(error)) from None
    print_result(report, options, text=reproduced_text, table=reproduced_table)


if __name__ == "__main__":
    main()
