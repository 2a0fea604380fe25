// Mouse, pen and fingers: drawing, changing, panning, pinching.
//
// A handle or the outline changes the box. Anywhere else one draws, also inside another box: by dragging, or
// by a click on each extreme point. The middle button, and the space bar held, pan; so do two fingers, which
// also zoom. `board` is what they work on: see boxes.js.

import { changed, dragged, measure, pixelAt } from "./geometry.js";
import { listenToWheel, makePinch } from "./zooming.js";

// CSS pixels within which a pointer that was pressed and let go has not moved.
const STILL = 3;

export function listen(frame, board, signal) {
  const { sheet, view, loupe, size, smallest } = board;
  const pinch = makePinch(frame, view);
  // What the pressed pointer does: {move, end, drop}, and whether the cross-hair shows where.
  let stroke = null;
  let panning = false;
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

  on("pointerdown", (event) => {
    if (event.pointerType === "touch") {
      const fingers = pinch.down(event);
      if (fingers === 2) drop();
      if (fingers > 1) return;
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
    pinch.move(event);
    if (!event.isPrimary || pinch.going) return;
    board.seen(event);
    stroke?.move(event);
    if (stroke?.aims) glass(event);
    const hovers = !panning && event.pointerType !== "touch" && !event.target.dataset.grip;
    sheet.cross(stroke ? stroke.aims && sheet.at(event) : hovers && sheet.at(event));
  });
  const lifted = (event, ended) => {
    pinch.up(event);
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

  listenToWheel(frame, view, signal);

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
