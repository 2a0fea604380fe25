"""The documentation's site: its menu, from docs/index.md, and the pages outside docs/."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
#: Pages outside docs/, and their names in the site.
OUTSIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.md",
    "studies/RESULTS.md": "results.md",
    "clients/python/README.md": "client.md",
}
_LINK = re.compile(r"\]\((?!\w+:|#)([^()\s#]+)")
_WHOLE_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\((?!\w+:|#)([^()\s#]+)[^()\s]*\)")


def github_slug(heading: str, separator: str) -> str:
    """Return the anchor of a heading in GitHub's form, so that one link works in both."""
    letters = (sign for sign in heading.lower() if sign in " -_" or unicodedata.category(sign)[0] in "LN")
    return "".join(letters).replace(" ", separator)


def on_config(config: Any) -> Any:
    """Read the menu from docs/index.md: a heading is a section, an item of its list a page."""
    nav: list[Any] = [{"Documentation": "index.md"}, {"Start": [{"README": "readme.md"}]}]
    for line in (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            nav.append({line[3:]: []})
        elif entry := re.match(r"- \[([^\]]+)\]\(([\w./]+)\)", line):
            pages = next(iter(nav[-1].values()))
            if not entry[2].startswith("../"):
                pages.append({entry[1]: entry[2]})
    rest = [OUTSIDE[name] for name in OUTSIDE if name != "README.md"]
    config.nav = [*nav, {"About": rest}]
    config.mdx_configs["toc"] = {"slugify": github_slug, "permalink": False}
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages outside docs/, and the product's logo."""
    for path, name in OUTSIDE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        if path == "LICENSE":
            text = f"# Licence\n\n{text}"
        files.append(File.generated(config, name, content=text))
    mark = (ROOT / "static" / "annotation" / "mark.svg").read_bytes()
    files.append(File.generated(config, "assets/mark.svg", content=mark))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Convert links from paths in the repository to paths in the site; the name of a file that is no page,
    such as a module, stays as text."""
    sources = {name: path for path, name in OUTSIDE.items()}
    path = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    folder = (ROOT / path).parent

    def moved(link: re.Match[str]) -> str:
        target = (folder / link[1]).resolve()
        if not target.is_relative_to(ROOT):
            return link[0]
        path = target.relative_to(ROOT).as_posix()
        return f"]({OUTSIDE.get(path, path.removeprefix('docs/'))}"

    def named(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return link[0]
        path = target.relative_to(ROOT).as_posix()
        return link[0] if path in OUTSIDE or path.startswith("docs/") else link[1]

    return _LINK.sub(moved, _WHOLE_LINK.sub(named, markdown))
