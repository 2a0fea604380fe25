"""A stand-in for Java with METEOR's protocol, and scores that can be checked by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phrasebox.metrics.meteor import _places

#: Statistics of a pair: the largest number of the candidate's words in a reference, and the candidate's
#: number of words. A score is their quotient; the corpus's is that of the sums, as in METEOR.
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
        print(found, len(candidate), flush=True)
    else:
        pairs = [tuple(map(int, part.split())) for part in parts]
        for matches, words in [*pairs, tuple(map(sum, zip(*pairs)))]:
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
