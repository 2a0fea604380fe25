"""A stand-in for Java with METEOR's protocol, and scores that can be checked by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phrasebox.metrics.meteor import _places

#: Of METEOR's statistics of a pair only the lengths and the exact matches: the candidate's number of words,
#: and the largest number of them in a reference. A score is their quotient, as METEOR's is without chunks;
#: the corpus's is that of the sums.
STAND_IN = """#!{python}
import json, sys
print("loading tables", file=sys.stderr)
with open({log!r}, "w") as log:
    json.dump(sys.argv[1:], log)
for line in sys.stdin:
    kind, *parts = [part.strip() for part in line.rstrip("\\n").split("|||")]
    if kind == "SCORE":
        *references, candidate = [part.split() for part in parts]
        found = max(len([word for word in candidate if word in own]) for own in references)
        words = len(candidate)
        print(words, words, 0, 0, found, found, *[0] * 15, found, found, flush=True)
    else:
        rows = [tuple(map(int, part.split())) for part in parts]
        for words, _, _, _, matches, *_ in [*rows, tuple(map(sum, zip(*rows)))]:
            print(matches / max(words, 1), flush=True)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set JAVA_HOME and METEOR_JAR to stand-ins; return the file to which the first writes its arguments."""
    java = tmp_path / "java home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    log = tmp_path / "arguments.json"
    java.write_text(STAND_IN.format(python=sys.executable, log=str(log)))
    java.chmod(0o755)
    jar = tmp_path / "meteor-1.5.jar"
    jar.touch()
    monkeypatch.setattr(_places, "java_home", str(java.parent.parent))
    monkeypatch.setattr(_places, "jar", str(jar))
    return log
