// Keys of the list of answers: J and K go from one to the next, X chooses one, A accepts it, R rejects it. After
// a decision the page is loaded again, and the next answer has the focus.

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

const NEXT = "answers.next";

function go(step) {
  focusOn(Math.max(0, answers.indexOf(current()) + step));
}

function focusOn(index) {
  const next = answers[index] ?? answers.at(-1);
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

for (const [index, answer] of answers.entries()) {
  answer.addEventListener("submit", () => {
    // In a list by state, the answer leaves the list.
    const leaves = new URLSearchParams(location.search).get("state");
    sessionStorage.setItem(NEXT, leaves ? index : index + 1);
  });
}
const next = sessionStorage.getItem(NEXT);
if (next !== null) {
  sessionStorage.removeItem(NEXT);
  focusOn(Number(next));
}
