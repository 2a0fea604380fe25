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

// Say all of `lines` in `place`, and nothing else. What is said already is not said again: screen readers
// read changes aloud.
export function tell(place, lines) {
  const text = JSON.stringify(lines);
  if (place.dataset.told === text) return;
  place.dataset.told = text;
  place.replaceChildren(...lines.map(([name, values, id]) => {
    const said = say(name, values);
    if (id !== undefined) said.dataset.id = id;
    return said;
  }));
}
