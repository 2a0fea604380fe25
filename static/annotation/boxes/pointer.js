// Mouse, pen and fingers: drawing, changing, panning, pinching.
//
// A handle or the outline changes the box. Anywhere else one draws, also inside another box: by dragging, or
// by a click on each extreme point. The middle button, and the space bar held, pan; so do two fingers, which
// also zoom. `board` is what they work on: see boxes.js.

import { changed, dragged, measure, pixelAt } from "./geometry.js";

// Of the wheel: how much closer a notch of 100 gets, and a pinch on a touchpad, which comes as small steps.
const NOTCH = 0.0025;
const PINCH = 0.01;
const LINE = 33;
// CSS pixels within which a pointer that was pressed and let go has not moved.
const STILL = 3;
// Milliseconds for which a wheel that zooms goes on zooming.
const MOMENTUM = 300;

export function listen(frame, board, signal) {
  const { sheet, view, loupe, size, smallest } = board;
  const fingers = new Map();
  // What the pressed pointer does: {move, end, drop}, and whether the cross-hair shows where.
  let stroke = null;
  let pinch = null;
  let panning = false;
  let spun = -Infinity;
  const on = (type, act, more) => frame.addEventListener(type, act, { signal, ...more });

  const glass = (event) => {
    if (event.pointerType === "touch") loupe.show(event, sheet.at(event), sheet.scale, board.box());
  };

  const dragging = (event) => {
    const from = sheet.at(event);
    board.begin();
    const before = board.state();
    let drawn = false;
    return {
      aims: true,
      move(next) {
        const box = dragged(from, sheet.at(next));
        // What is hardly moved was a click.
        drawn = Math.min(...measure(box)) >= smallest;
        if (drawn) board.put(box, "drag");
        else board.restore(before);
      },
      end() {
        board.commit();
        if (drawn) board.finish();
      },
      drop: () => board.restore(before),
    };
  };
  const clicking = () => ({
    aims: true,
    move() {},
    end: (event) => board.point(pixelAt(sheet.at(event), size)),
    drop() {},
  });
  const changing = (event, grip) => {
    const from = sheet.at(event);
    const [before, box] = [board.state(), board.box()];
    return {
      aims: grip !== "all",
      move(next) {
        const to = sheet.at(next);
        const by = [0, 1].map((axis) => Math.round(to[axis] - from[axis]));
        // Only a change makes the extreme points untrue.
        if (by.some(Boolean)) board.put(changed(box, grip, by, size, smallest), before.way);
        else board.restore(before);
      },
      end(last) {
        // Extreme points of an object that has a box lie where its handles are: a click is a point there too.
        const still = Math.hypot(last.clientX - event.clientX, last.clientY - event.clientY) < STILL;
        if (still && board.way() === "extreme") board.point(pixelAt(sheet.at(last), size));
        else board.commit();
      },
      drop: () => board.restore(before),
    };
  };
  const pushing = (event) => {
    let last = view.share(event.clientX, event.clientY);
    frame.classList.add("is-pushed");
    return {
      aims: false,
      move(next) {
        const now = view.share(next.clientX, next.clientY);
        view.pan(now[0] - last[0], now[1] - last[1]);
        last = now;
      },
      end() {},
      drop() {},
    };
  };
  const over = () => {
    stroke = null;
    loupe.hide();
    frame.classList.remove("is-pushed");
  };
  const drop = () => {
    stroke?.drop();
    over();
  };

  const spread = () => {
    const [[x1, y1], [x2, y2]] = [...fingers.values()];
    return { far: Math.max(1, Math.hypot(x2 - x1, y2 - y1)), spot: view.share((x1 + x2) / 2, (y1 + y2) / 2) };
  };
  const pinched = () => {
    const { far, spot } = spread();
    view.zoomTo((view.zoom * far) / pinch.far, pinch.spot, spot);
    pinch = { far, spot };
  };

  on("pointerdown", (event) => {
    if (event.pointerType === "touch") {
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (fingers.size === 2) {
        drop();
        pinch = spread();
      }
      if (fingers.size > 1) {
        frame.setPointerCapture(event.pointerId);
        return;
      }
    }
    const pans = event.button === 1 || (event.button === 0 && panning);
    if (!event.isPrimary || stroke || (event.button && !pans)) return;
    event.preventDefault();
    document.activeElement?.blur();
    frame.setPointerCapture(event.pointerId);
    const grip = event.target.dataset.grip;
    if (pans) stroke = pushing(event);
    else if (grip && board.box()) stroke = changing(event, grip);
    else stroke = board.way() === "extreme" ? clicking() : dragging(event);
    sheet.cross(stroke.aims ? sheet.at(event) : null);
    if (stroke.aims) glass(event);
  });
  on("pointermove", (event) => {
    if (fingers.has(event.pointerId)) {
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (pinch) pinched();
    }
    if (!event.isPrimary || pinch) return;
    board.seen(event);
    stroke?.move(event);
    if (stroke?.aims) glass(event);
    const hovers = !panning && event.pointerType !== "touch" && !event.target.dataset.grip;
    sheet.cross(stroke ? stroke.aims && sheet.at(event) : hovers && sheet.at(event));
  });
  const lifted = (event, ended) => {
    fingers.delete(event.pointerId);
    if (fingers.size < 2) pinch = null;
    if (event.pointerType === "touch") sheet.cross(null);
    if (stroke && event.isPrimary) {
      if (ended) stroke.end(event);
      else stroke.drop();
      over();
    }
  };
  on("pointerup", (event) => lifted(event, true));
  on("pointercancel", (event) => lifted(event, false));
  on("pointerleave", () => {
    if (!stroke) sheet.cross(null);
    board.seen(null);
  });
  // The middle button would paste, or scroll by itself.
  on("mousedown", (event) => { if (event.button === 1) event.preventDefault(); });
  on("auxclick", (event) => { if (event.button === 1) event.preventDefault(); });

  // The wheel zooms at the pointer. Where the whole picture is shown already and the page can be scrolled, the
  // page is scrolled, unless Ctrl is held; so nobody is caught in the picture on their way down the page.
  on("wheel", (event) => {
    const closer = event.deltaY < 0;
    const scrolls = !closer || scrollY > 0;
    if (!event.ctrlKey && view.zoom <= 1 && scrolls && event.timeStamp - spun > MOMENTUM) return;
    event.preventDefault();
    spun = event.timeStamp;
    const pixels = event.deltaMode ? event.deltaY * LINE : event.deltaY;
    const step = Math.abs(pixels) < 50 && event.ctrlKey ? PINCH : NOTCH;
    const least = event.ctrlKey ? 0 : Math.min(1, view.zoom);
    view.zoomTo(Math.max(least, view.zoom * Math.exp(-pixels * step)), view.share(event.clientX, event.clientY));
  }, { passive: false });

  return {
    get busy() { return stroke !== null; },
    drop,
    // While the space bar is held.
    pan(held) {
      panning = held;
      frame.classList.toggle("is-pannable", held);
    },
  };
}
