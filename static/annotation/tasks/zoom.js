// A picture to look at: zoom and pan by wheel, fingers, mouse, keys and buttons. Where one draws, the box editor
// does the same.

import { listenToWheel, makePinch } from "../boxes/zooming.js";
import { makeView } from "../boxes/view.js";
import { meant as meantBy } from "../layout.js";
import { storage } from "./storage.js";

const PANS = { a: [1, 0], w: [0, 1], d: [-1, 0], s: [0, -1] };
// Of the frame, at a press.
const PANNED = 0.125;
// What a double click zooms to.
const CLOSE = 2;
// The share of the frame that the box in question takes where it fills it: what is around it shows too.
const FILLED = 0.8;
const TYPED = "input:not([type='checkbox'], [type='radio']), select, textarea";
// Whether the box that is asked about fills the frame, as the worker chose last.
const FILLS = "box-fills-the-frame";

// Look closer at the picture of a task; the function returned takes everything away again.
export function mountZoom(task) {
  const tools = task.querySelector("[data-zoom-tools]");
  const frame = task.querySelector("[data-frame]");
  // The box editor brings tools of its own.
  if (task.querySelector("[data-editor][data-width]")) tools?.remove();
  else if (tools && frame?.querySelector("[data-picture]")) return makeViewer(frame, { tools }).away;
  return () => {};
}

// `keys` is where keys are heard; `counts(event)` tells whether one is meant for the picture.
export function makeViewer(frame, { tools, keys = document, counts = meant }) {
  const stop = new AbortController();
  const { signal } = stop;
  const numbers = (text) => text?.split(",").map(Number);
  const size = numbers(frame.dataset.size) ?? [1, 1];
  const questionBox = numbers(frame.dataset.questionBox);
  const zoomed = tools.querySelector("[data-zoom]");
  const fill = tools.querySelector("[data-do='fill']");
  const on = (type, act, more) => frame.addEventListener(type, act, { signal, ...more });
  // Where the pointer is, and where the picture was got hold of, in shares of the frame.
  let over;
  let push = null;

  const view = makeView(frame, size, (zoom) => {
    zoomed.textContent = `${Math.round(100 * zoom)} %`;
  });
  const pinch = makePinch(frame, view);
  const pressed = (filled) => { if (fill) fill.ariaPressed = String(filled); };
  const whole = () => {
    pressed(false);
    view.fit();
  };
  const close = () => {
    pressed(true);
    view.show(questionBox, FILLED);
  };
  const acts = {
    closer: () => view.step(1, over),
    farther: () => view.step(-1, over),
    fit: whole,
    fill() {
      const filled = fill.ariaPressed !== "true";
      storage.put(FILLS, filled);
      if (filled) close();
      else whole();
    },
  };

  tools.hidden = false;
  // Pressed by pointer, they leave the focus where it is.
  tools.addEventListener("mousedown", (event) => event.preventDefault(), { signal });
  tools.addEventListener("click", (event) => acts[event.target.closest("[data-do]")?.dataset.do]?.(), { signal });

  on("pointerdown", (event) => {
    if (event.pointerType === "touch" && pinch.down(event) > 1) {
      push = null;
      return;
    }
    if (!event.isPrimary || event.button > 1 || view.zoom <= 1) return;
    frame.setPointerCapture(event.pointerId);
    push = view.share(event.clientX, event.clientY);
    frame.classList.add("is-pushed");
  });
  on("pointermove", (event) => {
    pinch.move(event);
    if (!event.isPrimary || pinch.going) return;
    over = event.pointerType === "touch" ? undefined : view.share(event.clientX, event.clientY);
    if (!push) return;
    const now = view.share(event.clientX, event.clientY);
    view.pan(now[0] - push[0], now[1] - push[1]);
    push = now;
  });
  const lifted = (event) => {
    pinch.up(event);
    if (!event.isPrimary) return;
    push = null;
    frame.classList.remove("is-pushed");
  };
  on("pointerup", lifted);
  on("pointercancel", lifted);
  on("pointerleave", () => { over = undefined; });
  // Two fingers scroll no page; nor does one where there is more of the picture to see.
  for (const type of ["touchstart", "touchmove"]) {
    on(type, (event) => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
  }
  on("dragstart", (event) => event.preventDefault());
  for (const type of ["mousedown", "auxclick"]) {
    on(type, (event) => { if (event.button === 1) event.preventDefault(); });
  }
  on("dblclick", (event) => {
    if (view.zoom > 1) whole();
    else view.zoomTo(CLOSE, view.share(event.clientX, event.clientY));
  });
  listenToWheel(frame, view, signal);
  keys.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || !counts(event)) return;
    const pan = (key) => () => view.pan(...PANS[key].map((way) => way * PANNED));
    const byKey = { "+": acts.closer, "=": acts.closer, "-": acts.farther, 0: whole };
    const act = meantBy(event, (key) => byKey[key] ?? (key in PANS && pan(key)));
    if (!act) return;
    act();
    event.preventDefault();
  }, { signal });
  frame.classList.add("is-looked-at");
  if (fill && storage.get(FILLS, false)) close();

  return {
    view,
    fit: whole,
    away() {
      stop.abort();
      view.away();
      frame.classList.remove("is-looked-at", "is-pushed");
      tools.hidden = true;
    },
  };
}

// The page's own switch for single keys; nothing counts while somebody types, or reads a sheet.
function meant(event) {
  if (event.target.closest?.(`${TYPED}, dialog`)) return false;
  return document.querySelector("[data-keys] input")?.checked ?? true;
}
