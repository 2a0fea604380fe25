// The keyboard: a box without a pointer, zoom and pan, undo.
//
// Keys that are characters count as long as the page answers by single keys (WCAG 2.1.4), and never while
// somebody types.

import { meant } from "../layout.js";
import { changed, middle } from "./geometry.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowRight: [1, 0], ArrowDown: [0, 1] };
const PANS = { a: [1, 0], w: [0, 1], d: [-1, 0], s: [0, -1] };
// Of the frame, at a press.
const PANNED = 0.125;
// A held arrow goes on pixel by pixel for so many steps, then in larger ones.
const SLOW = 8;
const FAST = 5;
const NOT_TYPED = "[type='radio'], [type='checkbox']";

export function makeKeys(board, pointer, signal) {
  const { view, size, smallest } = board;
  let held = 0;
  let press = 0;

  const typing = (element) => element.closest?.("input, select, textarea") && !element.matches(NOT_TYPED);
  // The page's own switch; where there is none, keys count.
  const single = () => document.querySelector("[data-keys] input")?.checked ?? true;

  const arrow = (event) => {
    if (event.target.closest?.("input, select, textarea")) return false;
    held = event.repeat ? held + 1 : 0;
    if (!event.repeat) press += 1;
    const by = ARROWS[event.key].map((way) => way * (held > SLOW ? FAST : 1));
    const box = board.box();
    const grip = event.shiftKey ? "se" : "all";
    const next = box ? changed(box, grip, by, size, smallest) : middle(view.seen());
    board.put(next, box ? board.state().way || "keys" : "keys");
    board.commit(`arrow ${press}`);
    const [left, top, right, bottom] = next;
    if (event.shiftKey) view.reveal([right, bottom]);
    else view.reveal([right, bottom], [left - 1, top - 1]);
    return true;
  };
  const letter = (key, repeated) => {
    if (key === "+" || key === "=") view.step(1, board.spot());
    else if (key === "-") view.step(-1, board.spot());
    else if (key === "0") view.fit();
    else if (key in PANS) view.pan(...PANS[key].map((way) => way * PANNED));
    else if (key === "x") {
      if (!repeated) board.otherWay();
    } else return false;
    return true;
  };
  const plainKey = (event) => {
    if (event.key in ARROWS) return arrow(event);
    if (typing(event.target)) return false;
    if (event.key === " ") {
      // On a button, the space bar presses it.
      if (event.target.closest?.("a, button, summary, input")) return false;
      pointer.pan(true);
      return true;
    }
    if (event.key === "Delete" || event.key === "Backspace") {
      if (!board.box() && !board.points().length) return false;
      board.clear();
      return true;
    }
    if (event.key === "Escape") return board.points().length > 0 && board.box() === null && board.clear();
    return single() && meant(event, (key) => letter(key, event.repeat));
  };
  const chord = (event) => {
    if (event.altKey || (typing(event.target) && !board.owns(event.target))) return false;
    const acts = { z: event.shiftKey ? board.redo : board.undo, y: event.shiftKey ? null : board.redo };
    const act = meant(event, (key) => acts[key]);
    act?.();
    return Boolean(act);
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.target.closest?.("dialog")) return;
    if (pointer.busy) {
      if (event.key !== "Escape") return;
      pointer.drop();
      event.preventDefault();
      return;
    }
    const done = event.metaKey || event.ctrlKey ? chord(event) : !event.altKey && plainKey(event);
    if (done) event.preventDefault();
  }, { signal });
  const released = () => pointer.pan(false);
  document.addEventListener("keyup", (event) => { if (event.key === " ") released(); }, { signal });
  addEventListener("blur", released, { signal });
}
