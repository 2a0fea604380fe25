"""Parses of captions from CoNLL-U: matched by name and by words; invalid parses are reported with their
line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from evaluation.formats.conllu import ParsedSentence, read_conllu
from evaluation.selectors import names_of
from evaluation.services.common import InputError
from evaluation.services.features import parses
from evaluation.services.features.parses import import_parses, parses_of, stored_parses
from phrasebox.registry import UnknownName
from phrasebox.text.tokens import tokenise
from phrasebox.text_files import FormatError
from tests.evaluation.database.conftest import output_of

pytestmark = pytest.mark.django_db

DOG = """\
# sent_id = 1.jpg#0
# text = A dog's bark
1\tA\ta\tDET\tDT\t_\t2\tdet\t_\t_
2-3\tdog's\t_\t_\t_\t_\t_\t_\t_\t_
2\tdog\tdog\tNOUN\tNN\t_\t4\tnmod:poss\t_\t_
3\t's\t's\tPART\tPOS\t_\t2\tcase\t_\t_
3.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_
4\tbark\tbark\tNOUN\tNN\t_\t0\troot\t_\t_
"""
PARSED = ParsedSentence(
    "1.jpg#0", ("A", "dog", "'s", "bark"), (2, 4, 2, 0), ("det", "nmod:poss", "case", "root")
)


def written(folder: Path, text: str) -> Path:
    (folder / "p.conllu").write_text(text)
    return folder / "p.conllu"


def test_sentences_are_read_with_their_names_heads_and_relations(tmp_path: Path):
    another = "\n# newpar\n# sent_id = b\n1\tRun\trun\tVERB\tVB\t_\t0\troot\t_\t_"
    conllu = list(read_conllu(written(tmp_path, DOG + another)))
    assert conllu == [PARSED, ParsedSentence("b", ("Run",), (0,), ("root",))]
    (tmp_path / "p.conllu.gz").write_bytes(gzip.compress(DOG.encode()))
    assert list(read_conllu(tmp_path / "p.conllu.gz")) == [PARSED]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("# sent_id = 1.jpg#0\n", "", "line 2: begins a sentence without a name; expected # sent_id = ID"),
        ("1\tA\ta\tDET\tDT", "1\tA a DET DT", "line 3: has 7 columns; expected 10, separated by tabs"),
        ("1\tA", "2\tA", "line 3: has the ID '2'; expected 1"),
        ("\t2\tdet", "\tx\tdet", "line 3: has the head 'x'; expected a number, 0 or more"),
        ("\t2\tdet", "\t-2\tdet", "line 3: has the head '-2'"),
        ("\t2\tdet", "\t9\tdet", "sentence '1.jpg#0' has a head 9 and 4 words"),
        ("\t2\tdet", "\t0\tdet", "sentence '1.jpg#0' is no tree; expected one root, no circle"),
        ("\t4\tnmod:poss", "\t3\tnmod:poss", "is no tree"),
        ("\t0\troot", "\t4\troot", "is no tree"),
    ],
)
def test_what_is_no_parse_is_told_with_its_line(tmp_path: Path, old: str, new: str, says: str):
    assert old in DOG
    with pytest.raises(FormatError, match=says):
        list(read_conllu(written(tmp_path, DOG.replace(old, new, 1))))


def sentence(name: str, words: list[str]) -> str:
    """Return a parse in which every word depends on the previous one."""
    rows = [f"{n + 1}\t{word}\t_\t_\t_\t_\t{n}\tdep\t_\t_" for n, word in enumerate(words)]
    return "\n".join([f"# sent_id = {name}", *rows, "", ""])


@pytest.fixture
def captions(corpus: str) -> dict[str, list[str]]:
    """Return the words of each caption of the corpus, by its name."""
    from annotation.models import Caption

    names = names_of(corpus)
    texts = dict(Caption.objects.values_list("pk", "text"))
    return {name: list(tokenise(texts[pk])) for pk, name in names.caption_name.items()}


def test_parses_are_kept_in_the_order_of_captions_and_the_others_counted(
    corpus: str, captions: dict[str, list[str]], tmp_path: Path
):
    first, second, third, *_ = captions
    text = sentence(second, captions[second]) + sentence(first, [w.upper() for w in captions[first]])
    text += sentence(third, ["other", "words"]) + sentence("gone.jpg#0", ["a"])
    result = import_parses(corpus, written(tmp_path, text))
    stored = parses_of(corpus)
    assert result.parses == stored and not result.unchanged
    assert [item.id for item in stored.sentences()] == [first, second]
    assert next(iter(stored.sentences())).heads == tuple(range(len(captions[first])))
    assert (stored.captions, stored.words) == (2, len(captions[first]) + len(captions[second]))
    (missing,) = result.remarks
    assert missing.startswith(f"{len(captions) - 2} ids (")
    with pytest.raises(CommandError, match="parses: 1 without a match .*; parses: 1 whose words are not"):
        output_of("import_parses", corpus, written(tmp_path, text))
    assert import_parses(corpus, written(tmp_path, text)).unchanged


def test_brackets_and_quotation_marks_may_be_those_of_the_treebank():
    assert parses.letters_of('A "big" (red) dog') == parses.letters_of(
        "".join(parses._BRACKETS.get(w, w) for w in "A `` big '' -LRB- red -RRB- dog".split())
    )


def test_other_parses_replace_those_there_are_when_that_is_said(
    corpus: str, captions: dict[str, list[str]], tmp_path: Path, data_dir: Path
):
    first, second, *_ = captions
    assert "imported: 1 captions" in output_of(
        "import_parses", corpus, written(tmp_path, sentence(first, captions[first]))
    )
    another = written(tmp_path, sentence(second, captions[second]))
    with pytest.raises(CommandError, match="has other parses already"):
        output_of("import_parses", corpus, another)
    assert [item.id for item in parses_of(corpus).sentences()] == [first]
    output_of("import_parses", corpus, another, "--replace")
    assert [item.id for item in parses_of(corpus).sentences()] == [second]
    assert [path.name for path in (data_dir / "parses").iterdir()] == [corpus]
    # Killed between moving the old ones away and the new ones in: the old ones are restored.
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", dying_after(1, Path.rename))
        output_of("import_parses", corpus, written(tmp_path, sentence(first, captions[first])), "--replace")
    assert stored_parses(corpus) is None
    with pytest.raises(CommandError, match="has other parses already"):
        output_of("import_parses", corpus, written(tmp_path, sentence(first, captions[first])))
    assert [item.id for item in parses_of(corpus).sentences()] == [second]
    assert [path.name for path in (data_dir / "parses").iterdir()] == [corpus]


def dying_after(calls: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that dies at the call after `calls` calls."""
    done = 0

    def call(*arguments: Any) -> Any:
        nonlocal done
        done += 1
        if done > calls:
            raise KeyboardInterrupt
        return real(*arguments)

    return call


def test_what_does_not_fit_leaves_nothing(
    corpus: str, captions: dict[str, list[str]], tmp_path: Path, data_dir: Path
):
    name, words = next(iter(captions.items()))
    with pytest.raises(UnknownName, match="has no parses; import them as a CoNLL-U file"):
        parses_of(corpus)
    twice = sentence(name, words) * 2
    with pytest.raises(InputError, match=f"caption {name!r} has more than one parse"):
        import_parses(corpus, written(tmp_path, twice))
    with pytest.raises(InputError, match="no parse fits a caption .* 1 ids .* are of none, 0 ids"):
        import_parses(corpus, written(tmp_path, DOG))
    assert not (data_dir / "parses").exists()
