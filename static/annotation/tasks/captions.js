// Long captions: what is far from the phrase is shown on request. Screen readers have all of it in any case.

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-unclip]");
  if (button) button.ariaExpanded = String(button.ariaExpanded !== "true");
});
