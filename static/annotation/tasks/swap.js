// Puts one task in another's place. Where both are about one picture, the picture stays.

import { mountSheets } from "./sheets.js";
import { mountZoom } from "./zoom.js";

let unmount = () => {};
let strip = () => {};
// Editors that are here. One works from the moment its task is shown: a key that is pressed then counts.
const editors = new Map();

// Let the editor of a task work, and that of the last one rest.
export async function mountEditor(desk) {
  unmount();
  unmount = () => {};
  if (!desk.querySelector("[data-editor]")) return;
  const { editorModule } = desk.dataset;
  if (!editors.has(editorModule)) editors.set(editorModule, (await import(editorModule)).mount);
  if (desk.isConnected) unmount = editors.get(editorModule)(desk);
}

// What every task has besides an editor.
export function furnish(desk) {
  strip();
  const undone = [mountZoom(desk), mountSheets(desk)];
  strip = () => undone.forEach((undo) => undo());
}

export function swap(shown, fresh) {
  unmount();
  unmount = () => {};
  const [was, is] = [shown, fresh].map((desk) => desk.querySelector("[data-picture]"));
  if (was && is && shown.dataset.image === fresh.dataset.image) {
    was.replaceWith(was.cloneNode());
    is.replaceWith(was);
  }
  shown.replaceWith(fresh);
  furnish(fresh);
  // Whoever listens hears the question; Tab goes on to its answers.
  fresh.querySelector(".question").focus({ preventScroll: true });
  if (fresh.getBoundingClientRect().top < 0) fresh.scrollIntoView();
  return mountEditor(fresh);
}
