"""`import phrasebox`: its public names, and what it does not import."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from packaging.requirements import Requirement

import phrasebox
from phrasebox import formats

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = tuple(name for name in phrasebox.__all__ if not name.startswith("_"))
#: Packages for serving, drawing, training or reading corpora: none is imported for figures.
NOT_FOR_FIGURES = {
    "celery", "cv2", "defusedxml", "django", "HanTa", "ijson", "matplotlib", "numba", "PIL", "pyarrow",
    "redis", "rest_framework", "torch",
}  # fmt: skip

#: Optional packages that numpy imports if installed.
IF_THERE = {"charset-normalizer"}


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a separate Python with the repository on its path."""
    return subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path[:0] = [{str(REPOSITORY)!r}]\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_nothing_but_what_figures_need_is_loaded() -> None:
    done = python(
        "import json, phrasebox\n"
        "first = sorted(sys.modules)\n"
        f"for name in {ROOMS!r}: getattr(phrasebox, name)\n"
        "phrasebox.agreement.shares.special.ndtr  # SciPy is loaded on use\n"
        "print(json.dumps([first, sorted(sys.modules)]))"
    )
    assert done.returncode == 0, done.stderr
    first, then = ({name.partition(".")[0] for name in names} for names in json.loads(done.stdout))
    assert not first & {"numpy", *NOT_FOR_FIGURES}
    assert {"numpy", "scipy"} <= then
    assert not then & {"annotation", "config", "evaluation", "models_core", *NOT_FOR_FIGURES}
    # Everything imported is listed as a dependency, and every dependency is imported.
    named = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"]
    packages = packages_distributions()
    loaded = {package.lower() for root in then - first for package in packages.get(root, ())}
    assert loaded - IF_THERE == {Requirement(line).name.lower() for line in named}


def test_numba_is_loaded_with_what_it_compiles() -> None:
    done = python(
        "from phrasebox import kernels\nkernels.Trigram\nassert 'numba' not in sys.modules\n"
        "kernels.TagRank\nassert 'numba' in sys.modules"
    )
    assert done.returncode == 0, done.stderr


def test_without_numba_a_line_says_what_to_install() -> None:
    done = python(
        "sys.modules['numba'] = None\nfrom phrasebox import kernels\nkernels.Trigram\nkernels.TagRank"
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: phrasebox.kernels.TagRank needs Numba, which is not installed: "
        "pip install phrasebox[kernels]"
    )


def room(name: str) -> ModuleType:
    return importlib.import_module(f"phrasebox.{name}")


@pytest.mark.parametrize("name", ROOMS)
def test_every_public_name_is_there_and_told_of(name: str) -> None:
    module = room(name)
    assert list(module.__all__) == sorted(module.__all__, key=lambda n: (not n.isupper(), n[0].islower(), n))
    for public in module.__all__:
        result = getattr(module, public)
        if not public.isupper():
            # A dataclass without a docstring gets its signature as one.
            assert result.__doc__ and not result.__doc__.startswith(f"{public}("), public


def test_the_page_names_everything_that_is_public_and_nothing_else() -> None:
    text = (REPOSITORY / "docs" / "library.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    cells += [line.split("|")[2] for line in text.splitlines() if line.startswith("| `")]
    public = {name for own_room in ROOMS for name in room(own_room).__all__}
    names = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    # Those that a module of ours defines: `randomisation` is one.
    of_randomisation = {"of_means", "of_median"}
    assert names - of_randomisation == public


def test_another_name_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'metric'; it has .*metrics"):
        _ = phrasebox.metric


def test_paths_may_be_text(tmp_path: Path) -> None:
    run, qrels, arrays, matrix, table = (
        str(tmp_path / name) for name in ("a.run", "a.qrels", "a.npz", "b.npz", "a.csv")
    )
    formats.write_run(run, "mine", [("q", ["a", "b"], [2.0, 1.0])])
    assert formats.read_run(run).rankings["q"][0] == ("a", "b")
    formats.write_qrels(qrels, [("q", "a", 1)])
    assert formats.read_qrels(qrels) == {"q": {"a": 1}}
    np.savez(arrays, images=np.eye(2), image_ids=["i", "j"], captions=np.eye(2), caption_ids=["a", "b"])
    assert formats.scores_of(*formats.read_sides(arrays)).captions == ("a", "b")
    np.savez(matrix, scores=np.eye(2), images=["i", "j"], captions=["a", "b"])
    assert formats.read_scores(matrix).images == ("i", "j")
    Path(table).write_text("query,document,grade\nq,a,1\n")
    assert [pair.grades for pair in formats.read_judgments(table)] == [(1.0,)]
    with pytest.raises(formats.FormatError, match="cannot be opened"):
        formats.read_run(str(tmp_path / "absent.run"))
