// Boxes as numbers, without a page.
//
// A box is [left, top, right, bottom] in the picture's own pixels, 1-based and inclusive; a size is [width,
// height]. A place is [x, y] where 0, 0 is the picture's corner: pixel 1 lies between places 0 and 1.

export const EDGES = ["xmin", "ymin", "xmax", "ymax"];

export const between = (low, value, high) => Math.min(Math.max(value, low), high);
export const measure = ([left, top, right, bottom]) => [right - left + 1, bottom - top + 1];
export const centre = ([left, top, right, bottom]) => [(left - 1 + right) / 2, (top - 1 + bottom) / 2];
export const within = (point, size) => point.map((value, axis) => between(0, value, size[axis]));

export const isBox = ([left, top, right, bottom], [width, height]) =>
  [left, top, right, bottom].every(Number.isInteger)
  && 1 <= left && left <= right && right <= width && 1 <= top && top <= bottom && bottom <= height;

// Edges lie between pixels: dragged from place 0 to place 10, a box holds pixels 1 to 10.
export const dragged = ([x1, y1], [x2, y2]) => [
  Math.round(Math.min(x1, x2)) + 1,
  Math.round(Math.min(y1, y2)) + 1,
  Math.round(Math.max(x1, x2)),
  Math.round(Math.max(y1, y2)),
];

// A click means the pixel it is on.
export const pixelAt = (point, size) => point.map((value, axis) => between(1, Math.floor(value) + 1, size[axis]));

// Extreme clicking: the four points at which an object is topmost, leftmost, lowest and rightmost, in any
// order, give its tight box at once. Papadopoulos, Uijlings, Keller and Ferrari 2017, "Extreme clicking for
// efficient object annotation", section 3.
export const EXTREMES = 4;
export const hull = (points) => [
  Math.min(...points.map(([x]) => x)),
  Math.min(...points.map(([, y]) => y)),
  Math.max(...points.map(([x]) => x)),
  Math.max(...points.map(([, y]) => y)),
];

export const moved = ([left, top, right, bottom], [dx, dy], [width, height]) => {
  const x = between(1 - left, dx, width - right);
  const y = between(1 - top, dy, height - bottom);
  return [left + x, top + y, right + x, bottom + y];
};

// `grip` names the sides that go along ("nw", "e"); a side stops where less than `smallest` would be left.
export const resized = ([left, top, right, bottom], grip, [dx, dy], [width, height], smallest) => [
  grip.includes("w") ? between(1, left + dx, Math.max(1, right + 1 - smallest)) : left,
  grip.includes("n") ? between(1, top + dy, Math.max(1, bottom + 1 - smallest)) : top,
  grip.includes("e") ? between(Math.min(width, left - 1 + smallest), right + dx, width) : right,
  grip.includes("s") ? between(Math.min(height, top - 1 + smallest), bottom + dy, height) : bottom,
];

export const changed = (box, grip, by, size, smallest) =>
  grip === "all" ? moved(box, by, size) : resized(box, grip, by, size, smallest);

// Where the first box goes that keys make: the middle half of what is seen.
export const middle = ([left, top, right, bottom]) => {
  const [wide, high] = [right - left, bottom - top];
  return [
    Math.ceil(left + wide / 4),
    Math.ceil(top + high / 4),
    Math.floor(left + (3 * wide) / 4),
    Math.floor(top + (3 * high) / 4),
  ];
};
