// Keys of the list of answers: J and K go from one to the next, X chooses one, A accepts it, R rejects it.

const answers = [...document.querySelectorAll("[data-answer]")];
const keys = {
  j: () => go(1),
  k: () => go(-1),
  x: (answer) => answer.querySelector('input[name="answers"][type="checkbox"]')?.click(),
  a: (answer) => answer.querySelector("[data-accept]")?.click(),
  r: (answer) => {
    const reject = answer.querySelector("[data-reject]");
    if (!reject) return;
    reject.open = true;
    reject.querySelector('input[name="reason"]').focus();
  },
};

function go(step) {
  const next = answers[Math.max(0, answers.indexOf(current()) + step)] ?? answers.at(-1);
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function current() {
  return document.activeElement.closest?.("[data-answer]");
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.target.closest?.('input:not([type="checkbox"]), select, textarea, [contenteditable]')) return;
  const act = keys[event.key.toLowerCase()];
  const answer = current();
  if (!act || (!answer && !["j", "k"].includes(event.key.toLowerCase()))) return;
  event.preventDefault();
  act(answer);
});
