"""Estimate how long a user would need for a test's actions on its pages.

The keystroke-level model (Card, Moran and Newell 1980, "The keystroke-level model for user performance time
with interactive systems", CACM 23(7)): a key 0.28 s (an average typist of 40 words a minute), pointing 1.1 s,
a press 0.1 s, the hand to or from the mouse 0.4 s, and 1.35 s of thought before each action. An answer to a
question about a picture takes the time of its kind (`answer_time_of`); reading a new page takes five seconds.
Waiting for the machine is not included, so the result does not depend on the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from playwright.sync_api import Frame, Page

from annotation.protocol.kinds import answer_time_of

KEY, POINT, PRESS, HAND, THINK, READ = 0.28, 1.1, 0.1, 0.4, 1.35, 5.0
#: Seconds per event of the browser: a mouse action, a key, a selection from a list.
_SECONDS = {"press": THINK + HAND + POINT + 2 * PRESS, "key": THINK + KEY, "choice": POINT + 2 * PRESS}
#: Reports each trusted event. Text that a test fills in causes no key events: its length counts when the
#: field loses the focus. A file takes three presses: the button, the file, "Open".
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
    """A user's actions by kind, the pages read, and the answers of each kind."""

    acts: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)

    def watch(self, page: Page) -> None:
        """Count the actions on `page` from now on."""
        page.expose_binding("personDid", lambda _source, what, number: self.acts.update({what: number}))
        page.add_init_script(_SCRIPT)

        def navigated(frame: Frame) -> None:
            self.acts["page"] += frame == page.main_frame

        page.on("framenavigated", navigated)

    @property
    def seconds(self) -> float:
        """Return the estimated time of a user."""
        weigh: Mapping[str, float] = {**_SECONDS, "letter": KEY, "page": READ}
        done = sum(weigh[what] * number for what, number in self.acts.items())
        return done + sum(answer_time_of(kind).seconds * number for kind, number in self.answers.items())
