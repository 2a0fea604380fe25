// Zoom by the wheel and by two fingers: the same in every picture, whether one draws in it or looks at it.

// Of the wheel: how much closer a notch of 100 gets, and a pinch on a touchpad, which comes as small steps.
const NOTCH = 0.0025;
const PINCH = 0.01;
const LINE = 33;
// Milliseconds for which a wheel that zooms goes on zooming.
const MOMENTUM = 300;

// The wheel zooms at the pointer. Where the whole picture is shown already and the page can be scrolled, the
// page is scrolled, unless Ctrl is held; so nobody is caught in the picture on their way down the page.
export function listenToWheel(frame, view, signal) {
  let spun = -Infinity;
  frame.addEventListener("wheel", (event) => {
    const closer = event.deltaY < 0;
    const scrolls = !closer || scrollY > 0;
    if (!event.ctrlKey && view.zoom <= 1 && scrolls && event.timeStamp - spun > MOMENTUM) return;
    event.preventDefault();
    spun = event.timeStamp;
    const pixels = event.deltaMode ? event.deltaY * LINE : event.deltaY;
    const step = Math.abs(pixels) < 50 && event.ctrlKey ? PINCH : NOTCH;
    const least = event.ctrlKey ? 0 : Math.min(1, view.zoom);
    view.zoomTo(Math.max(least, view.zoom * Math.exp(-pixels * step)), view.share(event.clientX, event.clientY));
  }, { signal, passive: false });
}

// Two fingers zoom by the distance between them, and pan with the place between them.
export function makePinch(frame, view) {
  const fingers = new Map();
  let last = null;
  const spread = () => {
    const [[x1, y1], [x2, y2]] = [...fingers.values()];
    return { far: Math.max(1, Math.hypot(x2 - x1, y2 - y1)), spot: view.share((x1 + x2) / 2, (y1 + y2) / 2) };
  };
  return {
    get going() { return last !== null; },
    // How many fingers are down, with this one.
    down(event) {
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (fingers.size === 2) last = spread();
      if (fingers.size > 1) frame.setPointerCapture(event.pointerId);
      return fingers.size;
    },
    move(event) {
      if (!fingers.has(event.pointerId)) return;
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (!last) return;
      const { far, spot } = spread();
      view.zoomTo((view.zoom * far) / last.far, last.spot, spot);
      last = { far, spot };
    },
    up(event) {
      fingers.delete(event.pointerId);
      if (fingers.size < 2) last = null;
    },
  };
}
