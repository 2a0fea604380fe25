// Follows a link by key: <a data-key="ArrowRight"> is opened by →, unless a field has the focus.

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea, [contenteditable]")) return;
  document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`)?.click();
});
