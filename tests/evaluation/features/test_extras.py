"""Work that needs an optional package says so in one line, and everything else works without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError

from annotation.common.readers import pool
from models_core.extras import EXTRAS, REMEDY, MissingExtra, installed_versions, load_extra
from tests.evaluation.database.conftest import output_of
from tests.evaluation.features.test_combined_set import drawn as drawn
from tests.house.product import REPOSITORY

#: By package: a command that needs it.
COMMANDS = {
    "cv2": ("extract_features", "drawn", "--name", "a", "--extractor", "combined"),
    "gensim": ("train_word_vectors", "drawn", "--name", "a", "--split", "all"),
    "h5py": ("import_features", "drawn", "file.h5", "--name", "a"),
    "onnxruntime": (
        *("extract_features", "drawn", "--name", "a", "--extractor", "cnn", "--weights", "file.onnx"),
    ),
    "pyarrow": ("import_features", "drawn", "file.parquet", "--name", "a"),
}


@pytest.fixture
def without_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules that hide installed ones, from reader processes too."""
    folder = tmp_path / "hidden"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(pool, "_pool", pool._Pool())
    return folder


def hide(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Make `module` appear as not installed."""
    for name in [name for name in sys.modules if name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize("module", sorted(EXTRAS))
def test_a_command_that_lacks_a_package_names_it_and_the_remedy(
    drawn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_packages: Path, module: str
) -> None:
    (without_packages / f"{module}.py").write_text(f"raise ModuleNotFoundError('hidden', name={module!r})\n")
    for name in ("file.h5", "file.onnx", "file.parquet"):
        (tmp_path / name).write_bytes(b"not read")
    monkeypatch.chdir(tmp_path)
    hide(monkeypatch, module)
    package, purpose = EXTRAS[module]
    with pytest.raises(CommandError) as error:
        output_of(*COMMANDS[module])
    assert str(error.value) == f"{purpose} need {package}, which is not installed: {REMEDY}"


def test_an_extra_whose_own_parts_are_missing_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pyarrow\.nothing"):
        load_extra("pyarrow.nothing")
    hide(monkeypatch, "pyarrow")
    with pytest.raises(MissingExtra, match="Parquet files need pyarrow"):
        load_extra("pyarrow.nothing")


def test_the_server_checks_itself_without_any_extra(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(EXTRAS)!r}))\n"
        "import manage; sys.argv = ['manage.py', 'check', '--fail-level', 'WARNING']; manage.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={"PATH": "", "HOME": str(tmp_path), "DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_versions_are_of_what_is_installed():
    assert set(installed_versions(("numpy", "no-such-package"))) == {"numpy"}
