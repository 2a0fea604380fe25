// What is drawn over the picture: the box with its handles, extreme points, the cross-hair, a halo.
//
// An SVG whose user space is the picture: pointer positions come out in its pixels at any zoom and on any
// screen. It is hidden from screen readers, which have the fields and the list.

import { hull, measure, within } from "./geometry.js";

const GRIPS = { all: [0.5, 0.5], n: [0.5, 0], s: [0.5, 1], w: [0, 0.5], e: [1, 0.5], nw: [0, 0], ne: [1, 0], sw: [0, 1], se: [1, 1] };
// CSS pixels, at the root's usual font size.
const DOT = 9;
const POINT = 13;
const REACH = 28;
const FINGER = 44;
const LEAST_REACH = 12;
const ROOMY = 48;

const part = (name, attributes, parent) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(element, attributes);
  parent.append(element);
  return element;
};
const set = (element, attributes) => {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
};
const appear = (element, visible) => { element.style.display = visible ? "" : "none"; };

export function makeSheet(frame, size) {
  const [width, height] = size;
  const svg = part("svg", { class: "sheet", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, frame);
  const halo = ["rim", "halo"].map((name) => part("rect", { class: name }, svg));
  const cross = part("g", { class: "cross" }, svg);
  const lines = ["dark", "light"].flatMap((name) => [0, 1].map((axis) => ({ axis, line: part("path", { class: name }, cross) })));
  const mine = part("g", { class: "mine" }, svg);
  const outlines = ["rim", "edge", "border"].map((name) => part("rect", { class: name }, mine));
  outlines[2].dataset.grip = "all";
  const grips = Object.keys(GRIPS).map((name) => {
    const reach = part("rect", { class: "reach" }, mine);
    reach.dataset.grip = name;
    return { name, reach, dot: part("rect", { class: "grip" }, mine) };
  });
  const spots = part("g", { class: "points" }, svg);
  const coarse = matchMedia("(pointer: coarse)");
  const laid = (rects, [left, top, ...rest]) => {
    const [wide, high] = measure([left, top, ...rest]);
    for (const rect of rects) set(rect, { x: left - 1, y: top - 1, width: wide, height: high });
  };
  appear(cross, false);
  const haloed = (box) => {
    for (const rect of halo) appear(rect, box);
    if (box) laid(halo, box);
  };
  haloed(null);

  const handles = (box) => {
    // As large on a phone as on a wall; those of a small box's sides and middle step back.
    const pixel = width / (svg.clientWidth || width);
    const unit = pixel * (parseFloat(getComputedStyle(document.documentElement).fontSize) / 16);
    const [wide, high] = measure(box);
    const room = Math.min(wide, high) / unit;
    for (const { name, reach, dot } of grips) {
      const [u, v] = GRIPS[name];
      const visible = name.length === 2 || room > ROOMY;
      appear(reach, visible);
      appear(dot, visible);
      const [x, y] = [box[0] - 1 + u * wide, box[1] - 1 + v * high];
      const target = Math.min(coarse.matches ? FINGER : REACH, Math.max(LEAST_REACH, room / 2)) * unit;
      // What can be got hold of stays within the picture, where the frame ends.
      const [left, top] = within([x - target / 2, y - target / 2], [width - target, height - target]);
      set(reach, { x: left, y: top, width: target, height: target });
      set(dot, { x: x - (DOT * unit) / 2, y: y - (DOT * unit) / 2, width: DOT * unit, height: DOT * unit });
    }
    return unit;
  };

  return {
    svg,
    halo: haloed,
    // Fewer than four points are shown with the box that they would give.
    show(box, points) {
      const outline = box ?? (points.length > 1 ? hull(points) : null);
      appear(mine, outline);
      mine.classList.toggle("is-partial", !box);
      if (outline) laid(outlines, outline);
      const unit = handles(outline ?? [1, 1, width, height]);
      spots.replaceChildren();
      for (const [x, y] of points) {
        const reach = (POINT * unit) / 2;
        const d = `M${x - 0.5 - reach} ${y - 0.5}h${2 * reach}M${x - 0.5} ${y - 0.5 - reach}v${2 * reach}`;
        for (const name of ["dark", "light"]) part("path", { class: name, d }, spots);
      }
    },
    cross(point) {
      appear(cross, point);
      if (!point) return;
      for (const { axis, line } of lines) set(line, { d: axis ? `M0 ${point[1]}H${width}` : `M${point[0]} 0V${height}` });
    },
    // The place under a pointer, at the picture's edge where it is beyond.
    at(event) {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return within([point.x, point.y], size);
    },
    // CSS pixels that a pixel of the picture takes.
    get scale() { return (svg.clientWidth || width) / width; },
    away: () => svg.remove(),
  };
}
