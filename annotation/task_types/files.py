"""Django's finders for the template and the icon of each kind, which are in its folder.

`settings.TEMPLATES` contains `Templates`, `settings.STATICFILES_FINDERS` contains `Signs`. Both use
`annotation.task_types.discovery` for each search, so kinds of other packages need no setting of their own.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.contrib.staticfiles.utils import matches_patterns
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import FileSystemStorage, Storage
from django.template import Origin
from django.template.loaders import filesystem
from django.utils._os import safe_join

from annotation.task_types import discovery

#: Prefix of the names of templates: `task_types/KIND/task.html` is `task.html` in the kind's folder.
_PREFIX = "task_types"
#: Folder of icons among the static files: `annotation/signs/KIND.svg` is `sign.svg` in the kind's folder.
SIGNS = PurePosixPath("annotation/signs")
SIGN = "sign.svg"


class Templates(filesystem.Loader):
    """Templates named `task_types/KIND/FILE`, from the kind's folder."""

    def get_template_sources(self, template_name: str) -> Iterator[Origin]:
        first, _, rest = str(template_name).partition("/")
        kind, _, file = rest.partition("/")
        folder = discovery.kind_folder(kind) if first == _PREFIX else None
        if folder is None or not file:
            return
        try:
            name = safe_join(folder, file)
        except SuspiciousFileOperation:
            return
        yield Origin(name=name, template_name=template_name, loader=self)


class _InFolders(FileSystemStorage):
    """Icons under their static names; an icon's path is in its kind's folder."""

    def path(self, name: str) -> str:
        folder = discovery.kind_folder(PurePosixPath(name).stem)
        if folder is None:
            raise FileNotFoundError(f"{name}: no kind of question has this sign")
        return str(folder / SIGN)


class Signs(BaseFinder):
    """The icons of all kinds, and no other file of their folders, which contain code."""

    def __init__(self, app_names: Iterable[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._storage = _InFolders()

    def check(self, **kwargs: Any) -> list[Any]:
        """Nothing: `annotation.checks` reports a kind without an icon."""
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        """Return the icon's file; [] if there is none, and a list if `find_all` asks for all."""
        target = PurePosixPath(path)
        folder = (
            discovery.kind_folder(target.stem) if target.parent == SIGNS and target.suffix == ".svg" else None
        )
        if folder is None or not (folder / SIGN).is_file():
            return []
        return [str(folder / SIGN)] if find_all else str(folder / SIGN)

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        patterns = [*(ignore_patterns or ())]  # WhiteNoise passes None
        for name, folder in discovery.folders():
            path = f"{SIGNS}/{name.rpartition('.')[2]}.svg"
            if (folder / SIGN).is_file() and not matches_patterns(path, patterns):
                yield path, self._storage
