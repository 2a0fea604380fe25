// What a page has to say of the answers given, in words that stand on it as templates: [data-say="offline"].

// A part of the page in which `name` is said, its numbers and words filled in.
export function say(name, values = {}) {
  const said = document.querySelector(`template[data-say="${name}"]`).content.cloneNode(true).firstElementChild;
  for (const [key, value] of Object.entries(values)) {
    const place = said.querySelector(`[data-${key}]`);
    if (place) place.textContent = value;
  }
  return said;
}

// What is wrong with sending, and what will never be taken: [name, values, id] each.
export const troubles = (outbox, sender) => [
  ...(sender.trouble ? [[sender.trouble, { n: outbox.entries.length, why: sender.why }]] : []),
  ...outbox.refused.map(({ assignment, label, why }) => ["refused", { label, why }, assignment]),
];

// Say all of `lines` in `place`, and nothing else. What is said already stays as it is: screen readers read
// changes aloud, and a button keeps the focus. Where a button with the focus goes, one that does the same has
// it, else `home`.
export function tell(place, lines, home) {
  const there = new Map([...place.children].map((said) => [said.dataset.told, said]));
  const pressed = place.contains(document.activeElement) ? document.activeElement : null;
  const said = lines.map((line) => there.get(JSON.stringify(line)) ?? lineOf(line));
  for (const before of there.values()) if (!said.includes(before)) before.remove();
  said.forEach((line, n) => {
    if (place.children[n] !== line) place.insertBefore(line, place.children[n] ?? null);
  });
  if (pressed && !pressed.isConnected) (place.querySelector(`[data-do="${pressed.dataset.do}"]`) ?? home).focus();
}

// The same for whoever listens: `place` stays while tasks come and go, and has no buttons.
export function announce(place, lines) {
  tell(place, lines);
  for (const act of place.querySelectorAll("a, button")) act.remove();
}

function lineOf(line) {
  const [name, values, id] = line;
  const said = say(name, values);
  said.dataset.told = JSON.stringify(line);
  if (id !== undefined) said.dataset.id = id;
  return said;
}
