// The part of the picture that the frame shows: zoom and pan.
//
// Zoom 1 is the whole picture in the frame. Nothing is scaled as an image: picture, boxes and sheet get a
// larger size within the frame, so that lines and tags stay as thin and as small as they are.

import { between } from "./geometry.js";

export const STOPS = [0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16];
const LEAST = STOPS[0];
const MOST = STOPS.at(-1);
// The share of the frame that a box takes which is shown as large as it goes.
const FILLED = 0.6;

export function makeView(frame, size, zoomChanged) {
  let zoom = 1;
  // Where the picture's upper left corner is, in shares of the frame.
  let corner = [0, 0];

  const show = () => {
    // What is larger than the frame covers it; what is smaller stands in its middle.
    corner = corner.map((at) => (zoom >= 1 ? between(1 - zoom, at, 0) : (1 - zoom) / 2));
    frame.classList.toggle("is-zoomed", zoom !== 1);
    frame.style.setProperty("--view-left", `${100 * corner[0]}%`);
    frame.style.setProperty("--view-top", `${100 * corner[1]}%`);
    frame.style.setProperty("--view-size", `${100 * zoom}%`);
    zoomChanged(zoom);
  };
  const share = (clientX, clientY) => {
    const { left, top, width, height } = frame.getBoundingClientRect();
    return [(clientX - left) / width, (clientY - top) / height];
  };
  // Zoom so that what lies under `spot`, in shares of the frame, comes to lie under `then`.
  const zoomTo = (target, spot = [0.5, 0.5], then = spot) => {
    const next = between(LEAST, target, MOST);
    corner = corner.map((at, axis) => then[axis] - ((spot[axis] - at) * next) / zoom);
    zoom = next;
    show();
  };
  const spotOf = (point) => point.map((value, axis) => corner[axis] + (zoom * value) / size[axis]);

  return {
    get zoom() { return zoom; },
    share,
    spotOf,
    zoomTo,
    step(by, spot) {
      const next = by > 0 ? STOPS.find((stop) => stop > zoom + 1e-6) : STOPS.findLast((stop) => stop < zoom - 1e-6);
      zoomTo(next ?? zoom, spot);
    },
    fit() { zoomTo(1); },
    // By shares of the frame.
    pan(dx, dy) {
      corner = [corner[0] + dx, corner[1] + dy];
      show();
    },
    // The part of the picture that is seen, as places [left, top, right, bottom].
    seen() {
      const [low, high] = [0, 1].map((end) => corner.map((at, axis) => between(0, ((end - at) / zoom) * size[axis], size[axis])));
      return [...low, ...high];
    },
    // Pan just so far that these places are seen, the last one in any case.
    reveal(...points) {
      if (zoom <= 1) return;
      for (const point of points) {
        spotOf(point).forEach((spot, axis) => { corner[axis] += between(0.04, spot, 0.96) - spot; });
      }
      show();
    },
    // A box, as large as the frame takes it with something of what is around: it takes the share `filled`.
    show([left, top, right, bottom], filled = FILLED) {
      zoom = between(1, filled * Math.min(size[0] / (right - left + 1), size[1] / (bottom - top + 1)), MOST);
      corner = [(left - 1 + right) / 2, (top - 1 + bottom) / 2].map((at, axis) => 0.5 - (zoom * at) / size[axis]);
      show();
    },
    away() {
      frame.classList.remove("is-zoomed");
      for (const name of ["left", "top", "size"]) frame.style.removeProperty(`--view-${name}`);
    },
  };
}
