// Rows of tabs and places that are wider than a phone: the current one is moved into sight.

for (const row of document.querySelectorAll(".tabs, .places")) {
  const current = row.querySelector("[aria-current]");
  if (!current || row.scrollWidth <= row.clientWidth) continue;
  const at = current.getBoundingClientRect();
  const frame = row.getBoundingClientRect();
  row.scrollLeft += at.left - frame.left - (frame.width - at.width) / 2;
}
