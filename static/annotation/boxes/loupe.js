// A round magnifier beside the finger, which hides what it points at.

import { measure } from "./geometry.js";

const ACROSS = 128;
const TIMES = 2.5;
// From the finger to its middle, in CSS pixels.
const ASIDE = 92;

export function makeLoupe(frame, size) {
  const glass = document.createElement("canvas");
  glass.className = "loupe";
  glass.hidden = true;
  glass.setAttribute("aria-hidden", "true");
  document.body.append(glass);
  const pen = glass.getContext("2d");
  const middle = ACROSS / 2;

  const lens = ([x, y], scale, box, ratio) => {
    const zoomed = TIMES * scale * ratio;
    pen.setTransform(zoomed, 0, 0, zoomed, middle * ratio - x * zoomed, middle * ratio - y * zoomed);
    const picture = frame.querySelector("[data-picture], .picture");
    if (picture?.naturalWidth) pen.drawImage(picture, 0, 0, ...size);
    if (box) {
      for (const [colour, line] of [["#000", 5], [getComputedStyle(frame).getPropertyValue("--chain-2"), 2.5]]) {
        pen.strokeStyle = colour;
        pen.lineWidth = (line * ratio) / zoomed;
        pen.strokeRect(box[0] - 1, box[1] - 1, ...measure(box));
      }
    }
  };
  const cross = (ratio) => {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const [colour, line] of [["#000", 3], ["#fff", 1]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = line;
      pen.beginPath();
      pen.moveTo(middle, 0);
      pen.lineTo(middle, ACROSS);
      pen.moveTo(0, middle);
      pen.lineTo(ACROSS, middle);
      pen.stroke();
    }
  };

  return {
    // `place` is what the finger is on; `scale` how many CSS pixels a pixel of the picture takes.
    show(event, place, scale, box) {
      const ratio = devicePixelRatio;
      glass.hidden = false;
      glass.width = glass.height = ACROSS * ratio;
      lens(place, scale, box, ratio);
      cross(ratio);
      const right = event.clientX < innerWidth / 2;
      const left = event.clientX + (right ? ASIDE : -ASIDE) - middle;
      const top = Math.max(4, event.clientY - ASIDE - middle);
      glass.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
    },
    hide() { glass.hidden = true; },
    away: () => glass.remove(),
  };
}
