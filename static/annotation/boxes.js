// The box editor: one box, drawn over the picture, moved and resized by pointer, by finger and by keys. Where
// [data-editor] has several regions, the one in hand is that box.
//
// Where [data-editor] is on a page, its number fields, four to a box, are the truth about it, and the form's; they
// hold pixels of the picture, 1-based and inclusive. All that is made beside them is taken away again by what
// `mount` returns, so that a page may go on to its next task without a reload.

import { foldCorners } from "./boxes/corners.js";
import { EXTREMES, centre, hull } from "./boxes/geometry.js";
import { makeFields } from "./boxes/fields.js";
import { makeHistory } from "./boxes/history.js";
import { makeKeys } from "./boxes/keys.js";
import { makeList } from "./boxes/list.js";
import { makeLoupe } from "./boxes/loupe.js";
import { listen } from "./boxes/pointer.js";
import { makeRegions } from "./boxes/regions.js";
import { makeSheet } from "./boxes/sheet.js";
import { makeView } from "./boxes/view.js";
import { makeWays } from "./boxes/ways.js";

// Milliseconds without a change after which a screen reader is told of the last one.
const QUIET = 400;

const mounted = new WeakMap();

// Points as a field has them: "62,82 130,99".
const marksIn = (text) => text.split(" ").filter(Boolean).map((mark) => mark.split(",").map(Number));

// Make the editor of `root` work; the function returned takes everything away again. Doing it twice is once.
export function mount(root = document) {
  const editor = root.querySelector("[data-editor]");
  const frame = editor && (root.querySelector("[data-frame]") ?? document.querySelector("[data-frame]"));
  if (!frame || !editor.dataset.width) return () => {};
  if (!mounted.has(editor)) mounted.set(editor, start(editor, frame));
  return () => {
    mounted.get(editor)?.();
    mounted.delete(editor);
  };
}

function start(editor, frame) {
  const size = [Number(editor.dataset.width), Number(editor.dataset.height)];
  const smallest = Number(editor.dataset.smallest);
  const within = editor.parentElement;
  const find = (name) => within.querySelector(`[data-${name}]`);
  const [tools, clear, spoken] = [find("tools"), find("clear"), find("spoken")];
  const stop = new AbortController();
  const { signal } = stop;

  const form = ("regions" in editor.dataset ? makeRegions : makeFields)(editor, size, smallest);
  const sheet = makeSheet(frame, size);
  const loupe = makeLoupe(frame, size);
  // Points of a box that is not finished stand in the form too, and so in what is kept of it over a reload.
  const unfinished = editor.querySelector("[name=points]") ?? { value: "" };
  let points = [];
  let typed = 0;
  let over = null;

  // The tools stand below the picture as long as they work.
  const home = document.createComment("");
  if (tools) {
    tools.replaceWith(home);
    frame.after(tools);
    tools.hidden = false;
    // Pressed by pointer, they leave the focus where it is: the space bar is to pan, not to press them again.
    tools.addEventListener("mousedown", (event) => event.preventDefault(), { signal });
  }
  const tool = (name) => tools?.querySelector(`[data-do="${name}"]`);
  const zoomed = tools?.querySelector("[data-zoom]");

  const view = makeView(frame, size, (zoom) => {
    if (zoomed) zoomed.textContent = `${Math.round(100 * zoom)} %`;
    // Drawn again once the frame's parts have their size.
    show();
  });

  const missing = () => (points.length ? editor.dataset.points.replace("%n", points.length) : editor.dataset.missing);
  const show = () => {
    const box = form.box();
    form.check(missing());
    unfinished.value = points.length % EXTREMES ? points.join(" ") : "";
    sheet.show(box, points);
    form.draw?.(sheet);
    if (clear) clear.hidden = !box && !points.length;
  };
  const words = () => {
    const box = form.box();
    if (box) return editor.dataset.size.replace("%w", box[2] - box[0] + 1).replace("%h", box[3] - box[1] + 1);
    return points.length ? missing() : "";
  };
  let later = 0;
  const tell = () => {
    clearTimeout(later);
    if (spoken) later = setTimeout(() => { spoken.textContent = words(); }, QUIET);
  };

  const state = () => ({ held: form.held, way: form.way, points });
  const past = makeHistory(state());
  const steps = () => {
    tool("undo")?.setAttribute("aria-disabled", String(!past.canUndo));
    tool("redo")?.setAttribute("aria-disabled", String(!past.canRedo));
  };
  const restore = (was) => {
    form.held = was.held;
    form.way = was.way;
    points = was.points;
    show();
  };
  const commit = (run = "") => {
    past.record(state(), run);
    steps();
    tell();
  };
  const travel = (was) => {
    if (!was) return;
    restore(was);
    steps();
    tell();
  };
  const put = (box, how, marks = []) => {
    form.put(box, how);
    points = marks;
    show();
  };
  const wipe = () => {
    put(null, "");
    commit();
    return true;
  };

  const board = {
    sheet, view, loupe, size, smallest, state, restore, commit, put, show,
    box: form.box,
    points: () => points,
    way: () => ways.way,
    otherWay: () => ways.other(),
    owns: form.owns,
    clear: wipe,
    undo: () => travel(past.undo()),
    redo: () => travel(past.redo()),
    // A box is about to be drawn again; a drawn one is there.
    begin: () => form.begin?.(),
    finish: () => form.finish?.(),
    // The fourth point makes the box; the one after it begins another.
    point(point) {
      const marks = points.length % EXTREMES ? [...points, point] : [point];
      if (marks.length === 1) board.begin();
      put(marks.length === EXTREMES ? hull(marks) : null, "extreme", marks);
      commit();
      if (marks.length === EXTREMES) board.finish();
    },
    // Where the pointer is over the picture, for zooming by keys.
    seen: (event) => { over = event && [event.clientX, event.clientY]; },
    spot() {
      if (over) return view.share(...over);
      const box = form.box();
      return box ? view.spotOf(centre(box)) : undefined;
    },
  };

  const ways = makeWays(tools, (way) => {
    for (const hint of within.querySelectorAll("[data-hint]")) hint.hidden = hint.dataset.hint !== way;
    frame.dataset.draws = way;
  }, signal);
  const pointer = listen(frame, board, signal);
  makeKeys(board, pointer, signal);
  form.attach?.(board, frame, signal);
  const corners = foldCorners(editor.querySelector("[data-corners]"), signal);
  const list = makeList(find("taken"), { light: sheet.halo, show: view.show }, signal);

  const acts = {
    undo: board.undo,
    redo: board.redo,
    closer: () => view.step(1, board.spot()),
    farther: () => view.step(-1, board.spot()),
    fit: view.fit,
  };
  for (const [name, act] of Object.entries(acts)) tool(name)?.addEventListener("click", act, { signal });
  clear?.addEventListener("click", wipe, { signal });
  editor.addEventListener("input", (event) => {
    if (event.target.name === "way") return;
    if (form.typed(event.target)) points = [];
    show();
    commit(`typed ${typed}`);
  }, { signal });
  editor.addEventListener("change", () => { typed += 1; }, { signal });
  // What was kept over a reload is put into the fields of a page that works already; it can be taken back point
  // by point, as it came.
  const mark = (text) => {
    const marks = marksIn(text);
    if (marks.length) board.begin();
    for (let n = 1; n <= marks.length; n += 1) {
      points = marks.slice(0, n);
      commit();
    }
    show();
  };
  editor.addEventListener("restored", ({ detail }) => mark(detail.points ?? ""), { signal });
  const resized = new ResizeObserver(show);
  resized.observe(sheet.svg);
  frame.classList.add("is-drawn-on");
  const helps = [...within.querySelectorAll("[data-with-editor]")];
  for (const help of helps) help.hidden = false;
  mark(unfinished.value);
  steps();
  tell();

  return () => {
    stop.abort();
    clearTimeout(later);
    resized.disconnect();
    for (const part of [form, sheet, loupe, list, view, corners]) part.away();
    for (const help of helps) help.hidden = true;
    frame.classList.remove("is-drawn-on", "is-pannable", "is-pushed");
    delete frame.dataset.draws;
    if (tools) {
      tools.hidden = true;
      home.replaceWith(tools);
    }
  };
}

mount();
