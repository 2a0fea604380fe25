// The form's own fields, which are the truth about the box: what is typed and what is drawn is the same.

import { EDGES, isBox, measure } from "./geometry.js";

export const edgeFields = (editor) => EDGES.map((name) => editor.querySelector(`[name=${name}]`));

export function makeFields(editor, size, smallest) {
  const fields = edgeFields(editor);
  const way = editor.querySelector("[name=way]") ?? { value: "" };
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
    // The browser says what is wrong where the form is sent; `missing` is what it says where there is no box.
    check(missing) {
      const box = numbers();
      const [wide, high] = measure(box);
      let wrong = "";
      if (fields.some((field) => field.value === "")) wrong = missing;
      else if (wide < 1 || high < 1) wrong = editor.dataset.crossed;
      else if (Math.min(wide, high) < smallest) wrong = editor.dataset.small;
      fields[0].setCustomValidity(wrong);
    },
    away: () => fields[0].setCustomValidity(""),
  };
}
