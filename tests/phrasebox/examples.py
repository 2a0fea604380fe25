"""Run the examples of pages and modules; also a script, for an environment without tests.

    python examples.py PAGE.md... MODULE...

Examples are blocks of Markdown marked `python`, and unmarked ones that contain `>>>`; those with `>>>` must
print the output shown. The blocks of a page share one namespace. A block that cannot run has a line right
above it that begins with NOT_RUN and tells the reader the reason.
"""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOT_RUN = "*The tests do not run this:"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_FENCE = re.compile(r"( *)```+ *(\S*)")


@dataclass(frozen=True)
class Block:
    """Code of a page: the number of its first line, from 1; `reason` is why it is not run."""

    line: int
    code: str
    reason: str = ""

    @property
    def prompts(self) -> bool:
        """Whether the block shows its output."""
        return any(line.startswith(">>>") for line in self.code.splitlines())


def blocks(text: str) -> Iterator[Block]:
    """Yield the examples of a page. Raises ValueError for a block without an end, and for NOT_RUN without a
    reason."""
    lines = text.splitlines()
    index, before = 0, ""
    while index < len(lines):
        opening = _FENCE.match(lines[index])
        if opening is None:
            before = lines[index].strip() or before
            index += 1
            continue
        indent, language = opening.groups()
        end = next((n for n in range(index + 1, len(lines)) if lines[n].strip() == "```"), None)
        if end is None:
            raise ValueError(f"line {index + 1}: this block never ends")
        code = "\n".join(line.removeprefix(indent) for line in lines[index + 1 : end]) + "\n"
        reason = before.removeprefix(NOT_RUN).strip(" *") if before.startswith(NOT_RUN) else ""
        if before.startswith(NOT_RUN) and not reason:
            raise ValueError(f"line {index + 1}: say why the tests do not run this block")
        block = Block(index + 2, code, reason)
        if language in ("python", "pycon") or (not language and block.prompts):
            yield block
        index, before = end + 1, ""


def run_page(page: Path, names: dict[str, Any] | None = None) -> int:
    """Run a page's examples in this folder; return their number. Raises an exception if one fails."""
    names = {} if names is None else names
    names["__name__"] = "__main__"
    number = 0
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.reason:
            continue
        number += 1
        if block.prompts:
            result = doctest.DocTestParser().get_doctest(
                block.code, names, page.name, str(page), block.line - 1
            )
            _run(result)
            names.update(result.globs)
        else:
            # Tracebacks show the page's line numbers.
            code = "\n" * (block.line - 1) + block.code
            exec(compile(code, str(page), "exec", dont_inherit=True), names)
    return number


def run_module(name: str) -> int:
    """Run the examples in a module's docstrings; return the number of docstrings that have examples."""
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder().find(module, name) if test.examples]
    for test in tests:
        _run(test)
    return len(tests)


def _run(test: doctest.DocTest) -> None:
    """Raise AssertionError with the differences."""
    messages: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=messages.append, clear_globs=False)
    if messages:
        raise AssertionError("".join(messages))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        done = run_page(Path(argument)) if argument.endswith(".md") else run_module(argument)
        print(f"{Path(argument).name}: {done}")
