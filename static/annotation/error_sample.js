// Keys of a sampled mention: each verdict has a key, and Enter saves them.

const form = document.querySelector("[data-judge]");

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return;
  if (event.target.closest?.("a, button, summary, textarea, select")) return;
  if (event.key === "Enter") {
    event.preventDefault();
    form.requestSubmit(form.querySelector("[data-send]"));
    return;
  }
  const choice = form.querySelector(`[data-choice="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!choice) return;
  event.preventDefault();
  choice.checked = true;
});
