// The two ways to draw, the worker's choice: a switch of two, which this browser remembers.

import { storage } from "../tasks/storage.js";

const KEPT = "box-drawing";
const WAYS = ["drag", "extreme"];

export function makeWays(tools, changed, signal) {
  const found = tools ? [...tools.querySelectorAll("[data-way]")] : [];
  const kept = storage.get(KEPT, WAYS[0]);
  let way = WAYS.includes(kept) ? kept : WAYS[0];
  const choose = (chosen) => {
    way = chosen;
    for (const each of found) each.checked = each.dataset.way === way;
    changed(way);
  };
  const keep = (chosen) => {
    storage.put(KEPT, chosen);
    choose(chosen);
  };
  for (const each of found) each.addEventListener("change", () => keep(each.dataset.way), { signal });
  choose(way);
  return {
    get way() { return way; },
    other: () => keep(WAYS.find((each) => each !== way)),
  };
}
