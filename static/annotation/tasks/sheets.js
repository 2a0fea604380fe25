// Instructions and reports open beside the question, as a sheet: a dialog that keeps the focus until it is closed.
// Without scripts they are what the page has: [data-sheet], to be unfolded.

// Make sheets of what a task has to unfold; what is returned closes them.
export function mountSheets(task) {
  for (const details of task.querySelectorAll("details[data-sheet]")) makeSheet(details);
  return () => {
    for (const sheet of task.querySelectorAll("dialog.side-sheet")) sheet.close();
  };
}

function makeSheet(details) {
  const summary = details.querySelector("summary");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.ariaHasPopup = "dialog";
  button.dataset.key = summary.dataset.key;
  button.setAttribute("aria-keyshortcuts", summary.dataset.key);
  button.append(...summary.childNodes);

  const sheet = document.querySelector("template[data-sheet-frame]").content.cloneNode(true).firstElementChild;
  sheet.classList.add(...details.classList);
  sheet.dataset.key = summary.dataset.key;
  sheet.ariaLabel = sheet.querySelector("h2").textContent = details.dataset.sheet;
  summary.remove();
  sheet.append(...details.childNodes);
  details.replaceWith(button, sheet);

  button.addEventListener("click", () => openSheet(sheet));
  sheet.querySelector("[data-close]").addEventListener("click", () => sheet.close());
  // A press beside it closes it, as in any dialog.
  sheet.addEventListener("pointerdown", (event) => {
    const { left, right, top, bottom } = sheet.getBoundingClientRect();
    const within = event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
    if (event.target === sheet && !within) sheet.close();
  });
}

// The focus goes to what is to be filled in, else to the beginning; closed, it is again where it was.
export function openSheet(sheet) {
  if (sheet.open) return;
  sheet.showModal();
  (sheet.querySelector("form input:not([type='hidden'])") ?? sheet.querySelector("h2")).focus();
}
