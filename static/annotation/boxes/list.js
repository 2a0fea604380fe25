// The boxes that are accepted already, as rows beside the picture: one that has the focus, or is pointed at,
// is lit in the picture; pressed, it is shown as large as it goes.

export function makeList(list, { light, show }, signal) {
  const rows = list ? [...list.querySelectorAll("[data-box]")] : [];
  const undone = rows.map((row) => {
    const box = row.dataset.box.split(",").map(Number);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "row";
    button.append(...row.childNodes);
    row.append(button);
    const lit = () => light(box);
    const dark = () => light(document.activeElement === button ? box : null);
    button.addEventListener("focus", lit, { signal });
    button.addEventListener("pointerenter", lit, { signal });
    button.addEventListener("blur", () => light(null), { signal });
    button.addEventListener("pointerleave", dark, { signal });
    button.addEventListener("click", () => show(box), { signal });
    return () => button.replaceWith(...button.childNodes);
  });
  return { away: () => undone.forEach((undo) => undo()) };
}
