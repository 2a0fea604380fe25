// The two ways to draw, the worker's choice: a switch of two, which this browser remembers.

import { storage } from "../tasks/storage.js";

const KEPT = "box-drawing";
const WAYS = ["drag", "extreme"];

export function makeWays(tools, changed, signal) {
  const choices = tools ? [...tools.querySelectorAll("[data-way]")] : [];
  const stored = storage.get(KEPT, WAYS[0]);
  let way = WAYS.includes(stored) ? stored : WAYS[0];
  const choose = (chosen) => {
    way = chosen;
    for (const choice of choices) choice.checked = choice.dataset.way === way;
    changed(way);
  };
  const keep = (chosen) => {
    storage.put(KEPT, chosen);
    choose(chosen);
  };
  for (const choice of choices) choice.addEventListener("change", () => keep(choice.dataset.way), { signal });
  choose(way);
  return {
    get way() { return way; },
    other: () => keep(WAYS.find((choice) => choice !== way)),
  };
}
