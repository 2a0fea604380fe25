"""How long people would take for what a test does at its pages, by what it did there.

The keystroke-level model (Card, Moran and Newell 1980, "The keystroke-level model for user performance time
with interactive systems", CACM 23(7)): a key 0.28 s (an average typist of 40 words a
minute), pointing 1.1 s, a press 0.1 s, the hand to or from the mouse 0.4 s, and 1.35 s of thought before each
act. An answer to a question about a picture takes what its kind does (`answer_time_of`); reading a page that
was not there before is taken for five seconds. Waiting for the machine is not in it, so no machine is timed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from playwright.sync_api import Frame, Page

from annotation.protocol.kinds import answer_time_of

KEY, POINT, PRESS, HAND, THINK, READ = 0.28, 1.1, 0.1, 0.4, 1.35, 5.0
#: Seconds for what the browser tells: an act at the mouse, a key, a list of which one is chosen.
_SECONDS = {"press": THINK + HAND + POINT + 2 * PRESS, "key": THINK + KEY, "choice": POINT + 2 * PRESS}
#: Tells each trusted act. What a test fills in comes without keys: its length counts once it is left. A
#: file takes three presses: the button, the file, "Open".
_SCRIPT = """
const tell = (what, number) => window.personDid?.(what, number);
addEventListener("pointerdown", (event) => event.isTrusted && tell("press", 1), true);
addEventListener("keydown", (event) => event.isTrusted && tell("key", 1), true);
addEventListener("change", ({ target, isTrusted }) => {
  if (target.matches("select")) tell("choice", 1);
  else if (target.matches("[type=file]")) tell("press", 3);
  else if (isTrusted && target.matches("textarea, input:not([type=checkbox], [type=radio], [type=file])"))
    tell("letter", target.value.length);
}, true);
"""


@dataclass
class Effort:
    """What a person did at their page: acts by what they are, pages that they read, answers of each kind."""

    acts: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)

    def watch(self, page: Page) -> None:
        """Count what is done at `page` from now on."""
        page.expose_binding("personDid", lambda _source, what, number: self.acts.update({what: number}))
        page.add_init_script(_SCRIPT)

        def navigated(frame: Frame) -> None:
            self.acts["page"] += frame == page.main_frame

        page.on("framenavigated", navigated)

    @property
    def seconds(self) -> float:
        """How long it takes a person."""
        weigh: Mapping[str, float] = {**_SECONDS, "letter": KEY, "page": READ}
        done = sum(weigh[what] * number for what, number in self.acts.items())
        return done + sum(answer_time_of(kind).seconds * number for kind, number in self.answers.items())
