// The form's own fields, which are the truth about the box: what is typed and what is drawn is the same.

import { EDGES, isBox, measure } from "./geometry.js";

// `prefix` is what the fields' names begin with.
export const edgeFields = (editor, prefix = "") => EDGES.map((name) => editor.querySelector(`[name=${prefix}${name}]`));

export function makeFields(editor, size, smallest, prefix = "") {
  const fields = edgeFields(editor, prefix);
  const way = editor.querySelector(`[name=${prefix}way]`) ?? { value: "" };
  const numbers = () => fields.map((field) => (field.value === "" ? NaN : Number(field.value)));
  return {
    // The box that the fields tell, null where they tell none within the picture.
    box() {
      const box = numbers();
      return isBox(box, size) ? box : null;
    },
    put(box, how) {
      fields.forEach((field, i) => { field.value = box ? box[i] : ""; });
      way.value = box ? how : "";
    },
    get way() { return way.value; },
    set way(how) { way.value = how; },
    // Fields as they are, half a number included, and back again.
    get held() { return fields.map((field) => field.value); },
    set held(values) { fields.forEach((field, i) => { field.value = values[i]; }); },
    owns: (element) => fields.includes(element),
    // What is typed may make a box, or none. True where it was an edge.
    typed() {
      if (fields.every((field) => field.value === "")) way.value = "";
      else if (!way.value && isBox(numbers(), size)) way.value = "fields";
      return true;
    },
    // The browser says what is wrong where the form is sent; `missing` is what it says where there is no box.
    check(missing) {
      const { crossed, small } = editor.dataset;
      fields[0].setCustomValidity({ missing, crossed, small, whole: "" }[this.lacks]);
    },
    // Whether the box is "whole", and else why not: an edge is "missing", two are "crossed", it is too "small".
    get lacks() {
      const [wide, high] = measure(numbers());
      if (fields.some((field) => field.value === "")) return "missing";
      if (wide < 1 || high < 1) return "crossed";
      return Math.min(wide, high) < smallest ? "small" : "whole";
    },
    away: () => fields[0].setCustomValidity(""),
  };
}
