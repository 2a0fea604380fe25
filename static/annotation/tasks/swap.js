// Puts one task in another's place. Where both are about one picture, the picture stays.

import { mountSheets } from "./sheets.js";
import { mountZoom } from "./zoom.js";

let unmount = () => {};
let tearDown = () => {};
// Editors that are here. One works from the moment its task is shown: a key that is pressed then counts.
const editors = new Map();

// Let the editor of a task work, and that of the last one rest.
export async function mountEditor(task) {
  unmount();
  unmount = () => {};
  if (!task.querySelector("[data-editor]")) return;
  const { editorModule } = task.dataset;
  if (!editors.has(editorModule)) editors.set(editorModule, (await import(editorModule)).mount);
  if (task.isConnected) unmount = editors.get(editorModule)(task);
}

// What every task has besides an editor.
export function initialise(task) {
  tearDown();
  const undone = [mountZoom(task), mountSheets(task)];
  tearDown = () => undone.forEach((undo) => undo());
}

export function swap(current, fresh) {
  unmount();
  unmount = () => {};
  const [was, is] = [current, fresh].map((task) => task.querySelector("[data-picture]"));
  if (was && is && current.dataset.image === fresh.dataset.image) {
    was.replaceWith(was.cloneNode());
    is.replaceWith(was);
  }
  current.replaceWith(fresh);
  initialise(fresh);
  // A screen reader says the question; Tab goes on to its answers.
  fresh.querySelector(".question").focus({ preventScroll: true });
  if (fresh.getBoundingClientRect().top < 0) fresh.scrollIntoView();
  return mountEditor(fresh);
}
