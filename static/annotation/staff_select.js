// Ticks all rows of a table at once: shows the box in its head, and keeps that in step with the rows.

for (const form of document.querySelectorAll("[data-select]")) {
  const selectAll = form.querySelector("[data-select-all]");
  const all = selectAll?.querySelector("input");
  const rows = [...form.querySelectorAll('tbody input[type="checkbox"]')];
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
  form.addEventListener("change", look);
  look();
}
