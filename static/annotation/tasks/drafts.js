// What was entered and not sent: a drawn box, half a comment. It is there again after a reload.

const KEY = "phrasebox:draft:";
const SOON = 200;
// Made by the page, not entered.
const OURS = ["csrfmiddlewaretoken", "assignment", "token", "seconds"];

export const entered = (form, button) =>
  Object.fromEntries([...new FormData(form, button)].filter(([name]) => !OURS.includes(name)));

export class Drafts {
  constructor(storage, where) {
    Object.assign(this, { storage, key: KEY + where, saved: "" });
  }

  // Editors change fields without a word: looked at after whatever somebody does.
  watch(current) {
    let soon;
    const look = () => {
      clearTimeout(soon);
      soon = setTimeout(() => this.save(current()), SOON);
    };
    for (const act of ["input", "change", "pointerup", "keyup"]) addEventListener(act, look, { passive: true });
    addEventListener("pagehide", () => this.save(current()));
  }

  save(task) {
    if (!task || task.inert) return;
    const fields = Object.assign({}, ...[...task.querySelectorAll("form")].map((form) => entered(form)));
    const draft = { assignment: Number(task.dataset.assignment), fields };
    const text = JSON.stringify(draft);
    if (text === this.saved) return;
    this.saved = text;
    if (Object.values(fields).some(Boolean)) this.storage.put(this.key, draft);
    else this.storage.remove(this.key);
  }

  // Put back what belongs to `task`.
  restore(task) {
    const { assignment, fields } = this.storage.get(this.key, { fields: {} });
    if (assignment === Number(task.dataset.assignment)) fill(task, fields);
  }

  clear() {
    this.saved = "";
    this.storage.remove(this.key);
  }
}

function fill(task, fields) {
  for (const field of task.querySelectorAll("form :is(input, textarea, select)")) {
    const value = fields[field.name];
    if (value === undefined || OURS.includes(field.name)) continue;
    if (["radio", "checkbox"].includes(field.type)) field.checked = field.value === value;
    else field.value = value;
  }
  for (const field of task.querySelectorAll("[data-editor] input:not([type=hidden])")) {
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  task.querySelector("[data-editor]")?.dispatchEvent(new CustomEvent("restored", { detail: fields }));
}
