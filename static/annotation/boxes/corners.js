// The number fields of a box, folded away while one draws: the person who unfolds them has them unfolded from then on.

import { storage } from "../tasks/storage.js";

const KEPT = "box-corners";

export function foldCorners(details, signal) {
  if (!details) return { away() {} };
  // What was typed in vain is shown with what is wrong.
  details.open = storage.get(KEPT, false) || details.querySelector("[aria-invalid]") !== null;
  details.querySelector("summary").addEventListener("click", () => storage.put(KEPT, !details.open), { signal });
  // An edge that the browser finds fault with has to be seen.
  details.addEventListener("invalid", () => { details.open = true; }, { capture: true, signal });
  return { away() { details.open = true; } };
}
