// The box editor: one box, drawn over the picture, moved and resized by pointer and by keys.
//
// A box is [left, top, right, bottom] in the picture's own pixels, 1-based and inclusive: what the
// number fields of [data-editor] hold, which are the form's. The sheet is an SVG whose user space is the
// picture, so pointer positions come out in its pixels at any zoom and on any screen.

const editor = document.querySelector("[data-editor]");
const width = Number(editor.dataset.width);
const height = Number(editor.dataset.height);
const smallest = Number(editor.dataset.smallest);
const fields = ["xmin", "ymin", "xmax", "ymax"].map((name) => editor.querySelector(`[name=${name}]`));
const clear = editor.querySelector("[data-clear]");

const between = (low, value, high) => Math.min(Math.max(value, low), high);

// The form is the truth: what is typed, and what is drawn, are the same box.
const read = () => {
  const box = fields.map((field) => (field.value === "" ? NaN : Number(field.value)));
  const [left, top, right, bottom] = box;
  const whole = box.every(Number.isInteger);
  return whole && 1 <= left && left <= right && right <= width && 1 <= top && top <= bottom && bottom <= height ? box : null;
};
const said = (text) => fields[0].setCustomValidity(text);
const check = () => {
  const [left, top, right, bottom] = fields.map((field) => Number(field.value));
  if (fields.some((field) => field.value === "")) said(editor.dataset.missing);
  else if (left > right || top > bottom) said(editor.dataset.crossed);
  else if (Math.min(right - left, bottom - top) + 1 < smallest) said(editor.dataset.small);
  else said("");
};
const write = (box) => {
  fields.forEach((field, i) => { field.value = box ? box[i] : ""; });
  show();
};

// What is drawn: outline, and a handle at each corner, at the middle of each side, and in the middle.
const GRIPS = { all: [0.5, 0.5], n: [0.5, 0], s: [0.5, 1], w: [0, 0.5], e: [1, 0.5], nw: [0, 0], ne: [1, 0], sw: [0, 1], se: [1, 1] };
const part = (name, attributes, parent) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
};
const place = (made, x, y, wide, high) => {
  for (const [key, value] of Object.entries({ x, y, width: wide, height: high })) made.setAttribute(key, value);
};

const frame = document.querySelector("[data-frame]");
const sheet = part("svg", { class: "sheet", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, frame);
const mine = part("g", {}, sheet);
const outlines = ["rim", "edge", "border"].map((name) => part("rect", { class: name }, mine));
outlines[2].dataset.grip = "all";
const grips = Object.keys(GRIPS).map((name) => {
  const reach = part("rect", { class: "reach" }, mine);
  reach.dataset.grip = name;
  return { name, reach, dot: part("rect", { class: "grip" }, mine) };
});

const show = () => {
  check();
  const box = read();
  mine.style.display = box ? "" : "none";
  clear.hidden = !box;
  if (!box) return;
  const [x, y, wide, high] = [box[0] - 1, box[1] - 1, box[2] - box[0] + 1, box[3] - box[1] + 1];
  for (const outline of outlines) place(outline, x, y, wide, high);
  // Handles are as large on a phone as on a wall; those of a small box's sides and middle step back.
  const pixel = width / (sheet.clientWidth || width);
  const room = Math.min(wide, high) / pixel;
  for (const { name, reach, dot } of grips) {
    const [u, v] = GRIPS[name];
    const shown = name.length === 2 || room > 48;
    for (const [made, side] of [[reach, Math.min(28, Math.max(12, room / 2)) * pixel], [dot, 9 * pixel]]) {
      made.style.display = shown ? "" : "none";
      place(made, x + u * wide - side / 2, y + v * high - side / 2, side, side);
    }
  }
};

// Edges lie between pixels: a box from edge 0 to edge 10 holds pixels 1 to 10.
const at = (event) => {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(sheet.getScreenCTM().inverse());
  return [between(0, point.x, width), between(0, point.y, height)];
};
const drawn = ([x1, y1], [x2, y2]) => [
  Math.round(Math.min(x1, x2)) + 1,
  Math.round(Math.min(y1, y2)) + 1,
  Math.round(Math.max(x1, x2)),
  Math.round(Math.max(y1, y2)),
];
const moved = ([left, top, right, bottom], dx, dy) => {
  const x = between(1 - left, dx, width - right);
  const y = between(1 - top, dy, height - bottom);
  return [left + x, top + y, right + x, bottom + y];
};
const resized = ([left, top, right, bottom], grip, dx, dy) => [
  grip.includes("w") ? between(1, left + dx, Math.max(1, right + 1 - smallest)) : left,
  grip.includes("n") ? between(1, top + dy, Math.max(1, bottom + 1 - smallest)) : top,
  grip.includes("e") ? between(Math.min(width, left - 1 + smallest), right + dx, width) : right,
  grip.includes("s") ? between(Math.min(height, top - 1 + smallest), bottom + dy, height) : bottom,
];
const changed = (box, grip, dx, dy) => (grip === "all" ? moved(box, dx, dy) : resized(box, grip, dx, dy));

// The pointer: by a handle or the outline it changes the box, anywhere else it draws one, also inside another.
let drag = null;
const end = () => { drag = null; };
const undo = () => {
  if (drag) write(drag.before);
  end();
};
sheet.addEventListener("pointerdown", (event) => {
  if (!event.isPrimary || event.button) return;
  event.preventDefault();
  document.activeElement?.blur();
  sheet.setPointerCapture(event.pointerId);
  drag = { grip: event.target.dataset.grip, from: at(event), before: read() };
});
sheet.addEventListener("pointermove", (event) => {
  if (!drag || !event.isPrimary) return;
  const to = at(event);
  if (drag.grip) {
    write(changed(drag.before, drag.grip, Math.round(to[0] - drag.from[0]), Math.round(to[1] - drag.from[1])));
    return;
  }
  const box = drawn(drag.from, to);
  // What is hardly moved was a click.
  const meant = Math.min(box[2] - box[0], box[3] - box[1]) + 1 >= smallest;
  write(meant ? box : drag.before);
});
sheet.addEventListener("pointerup", end);
sheet.addEventListener("pointercancel", undo);

// Keys: arrows move the box, with Shift its lower right corner; the first one puts a box in the middle.
const ARROWS = { ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowRight: [1, 0], ArrowDown: [0, 1] };
const SLOW = 8;
const FAST = 5;
let held = 0;
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea")) return;
  const box = read();
  if (event.key === "Escape" && drag) {
    undo();
    event.preventDefault();
  } else if (event.key in ARROWS && !drag) {
    event.preventDefault();
    held = event.repeat ? held + 1 : 0;
    const step = held > SLOW ? FAST : 1;
    const [dx, dy] = ARROWS[event.key].map((way) => way * step);
    if (box) write(changed(box, event.shiftKey ? "se" : "all", dx, dy));
    else write([Math.ceil(width / 4), Math.ceil(height / 4), Math.floor((3 * width) / 4), Math.floor((3 * height) / 4)]);
  } else if (["Delete", "Backspace"].includes(event.key) && box && !drag) {
    event.preventDefault();
    write(null);
  }
});

clear.addEventListener("click", () => write(null));
editor.addEventListener("input", show);
new ResizeObserver(show).observe(sheet);
editor.querySelector("[data-hint]").hidden = false;
show();
