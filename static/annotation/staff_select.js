// Ticks all boxes of a name at once: shows the box for all, and keeps that in step with them.

for (const form of document.querySelectorAll("[data-select]")) {
  const selectAll = form.querySelector("[data-select-all]");
  const all = selectAll?.querySelector("input");
  const rows = [...form.elements].filter((field) => field.type === "checkbox" && field.name === form.dataset.select);
  if (!all || !rows.length) continue;
  const look = () => {
    const ticked = rows.filter((row) => row.checked).length;
    all.checked = ticked === rows.length;
    all.indeterminate = ticked > 0 && ticked < rows.length;
  };
  selectAll.hidden = false;
  all.addEventListener("change", () => {
    for (const row of rows) row.checked = all.checked;
  });
  // Some are outside the form, which names them as its own.
  for (const row of rows) row.addEventListener("change", look);
  look();
}
