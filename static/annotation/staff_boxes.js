// Lists of boxes, one to a line of a text field: what is drawn with the box editor is added to one.
//
// The field stays what the form sends. Below each textarea[data-boxes] stand its boxes, to be taken up
// into the editor again or removed, and a button that adds the drawn one. A box that is drawn and not
// added yet goes with the form, so that nobody loses it.

import { edgeFields } from "./boxes/fields.js";

const editor = document.querySelector("[data-editor]");
const edges = edgeFields(editor);

const notifyEditor = () => editor.dispatchEvent(new Event("input"));
const set = (box) => {
  edges.forEach((edge, i) => { edge.value = box[i] ?? ""; });
  notifyEditor();
};
const drawn = () => (edges.every((edge) => edge.value !== "" && edge.checkValidity()) ? edges.map((edge) => edge.value).join(", ") : "");

const list = (field) => {
  const preview = document.createElement("div");
  preview.className = "boxlist";
  field.after(preview);
  const lines = () => field.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const write = (boxes) => {
    field.value = boxes.join("\n");
    show();
  };
  const button = (text, aside, act) => {
    const element = document.createElement("button");
    element.type = "button";
    element.className = "small";
    element.append(text);
    if (aside) {
      const about = document.createElement("span");
      about.className = "aside";
      about.append(`: ${aside}`);
      element.append(about);
    }
    element.addEventListener("click", act);
    return element;
  };
  const add = () => {
    const box = drawn();
    if (box && !lines().includes(box)) write([...lines(), box]);
    if (box) set([]);
    return box;
  };
  const show = () => {
    const rows = lines().map((line, i) => {
      const row = document.createElement("p");
      const without = () => write(lines().filter((_, j) => j !== i));
      const change = () => {
        set(line.replaceAll(",", " ").split(/\s+/));
        without();
        edges[0].focus();
      };
      row.append(line, " ", button(field.dataset.change, line, change), " ", button(field.dataset.remove, line, without));
      return row;
    });
    const put = button(field.dataset.add, "", () => add() || edges.find((edge) => !edge.reportValidity()));
    preview.replaceChildren(...rows, put);
  };
  field.addEventListener("input", show);
  show();
  return { field, add };
};

const lists = [...document.querySelectorAll("textarea[data-boxes]")].map(list);
for (const { field, add } of lists.slice(0, 1)) {
  field.form.addEventListener("submit", (event) => {
    if (event.submitter?.value === field.dataset.sentBy) add();
  });
}
editor.closest("[hidden]")?.removeAttribute("hidden");
notifyEditor();
