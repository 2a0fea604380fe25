// Single keys: whatever bears data-key="1" in [data-task] is pressed by that key (layout.js). The switch that turns them off
// (WCAG 2.1.4) is remembered. Escape closes what was opened.

import { meanings, meant, showPrinted } from "../layout.js";
import { storage } from "./storage.js";

const KEPT = "answer-by-keys";
const TYPING = "input:not([type='checkbox'], [type='radio']), select, textarea";
// What stays as it is left, from question to question.
const STAYS = ":not([data-stays])";

const on = () => storage.get(KEPT, true);

// Show the switch of a task as it stands.
export function showSwitch(task) {
  const keys = task.querySelector("[data-keys]");
  keys.hidden = false;
  keys.querySelector("input").checked = on();
  showPrinted(task);
}

const close = (from) => {
  const task = document.querySelector("[data-task]");
  const open = from.closest?.(`details[open]${STAYS}`) ?? task.querySelector(`details[open]${STAYS}`);
  if (!open) return false;
  open.open = false;
  open.querySelector("summary").focus();
  return true;
};

// `ready(meant)` tells whether a key counts now: nobody answers what they have not seen.
export function listen(ready) {
  document.addEventListener("change", (event) => {
    if (event.target.closest("[data-keys]")) storage.put(KEPT, event.target.checked);
  });
  // On the window, after the editor: Escape gives up half a box before it closes what was opened.
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || event.metaKey || event.ctrlKey || event.altKey) return;
    // A sheet is closed by Escape, or by the key that opened it; no other key means what lies behind.
    const sheet = document.querySelector("dialog[open]");
    if (sheet) {
      if (!on() || event.target.closest?.(TYPING) || !meanings(event).includes(sheet.dataset.key)) return;
      event.preventDefault();
      sheet.close();
      return;
    }
    if (event.key === "Escape") {
      if (close(event.target)) event.preventDefault();
      return;
    }
    if (!on() || event.target.closest?.(TYPING)) return;
    const of = (key) => `[data-task]:not([inert]) [data-key="${CSS.escape(key)}"]:not([hidden])`;
    const pressed = meant(event, (key) => document.querySelector(of(key)));
    if (!pressed || !ready(pressed)) return;
    event.preventDefault();
    pressed.click();
  });
}
