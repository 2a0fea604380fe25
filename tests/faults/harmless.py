"""Faults that no test can find, because they have no visible effect: their key, and the reason.

The key depends on the function's name and the change, so that it is the same when files move. A fault that a
user, a file or another process can notice does not belong here: it needs a test.
"""

from __future__ import annotations

HARMLESS: dict[str, str] = {
    "4b402d6ddc": "a factor that scatters workers over a window of tasks: another scatters them as well",
    "0acefca68e": "no box names what is not visual (formats/checks.py), so that merging passes it by",
    "aea8c7968a": "a layer is published when all of it is written, and what a kill left is removed first",
    "7c21fc7772": "the pairs are put into a set, or sorted, wherever they are used",
    "95c4eac338": "a corpus is published when all of it is written, and what a kill left is removed first",
}
